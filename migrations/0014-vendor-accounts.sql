-- The tenants' accounts with vendors. Each secret is encrypted under a data key of the tenant, which KMS wraps.
-- Only identity_vault may read wrapped keys and call app.open_vendor_secret, which returns ciphertext.
set local role identity_owner;

-- The vendors, with the adapter in shared/vendor for the protocol of each. A vendor's URL is a setting of the stage.
create table app.vendors (
  code    text primary key check (code ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
  name    text not null,
  adapter text not null check (adapter in ('ss-activewear', 'promostandards'))
);
insert into app.vendors (code, name, adapter) values
  ('ss-activewear', 'S&S Activewear', 'ss-activewear'),
  ('sanmar', 'SanMar', 'promostandards');
grant select on app.vendors to identity_app, identity_vault;

-- The data keys of tenants, wrapped by KMS. The foreign key of vendor_accounts includes `usable`, so a data key that a
-- secret needs cannot be destroyed, and no secret can be stored under a destroyed one.
create table app.data_keys (
  id           uuid primary key default gen_random_uuid(),
  tenant_id    uuid not null references app.tenants,
  purpose      text not null check (purpose in ('vendor-credential')),
  status       text not null default 'active' check (status in ('active', 'decrypt_only', 'destroyed')),
  kms_key_arn  text not null check (length(kms_key_arn) <= 2048),
  wrapped_key  bytea check (length(wrapped_key) <= 6144),
  usable       boolean not null generated always as (wrapped_key is not null) stored,
  created_at   timestamptz not null default now(),
  retired_at   timestamptz,
  destroyed_at timestamptz,
  unique (id, tenant_id, usable),
  check ((status = 'destroyed') = (wrapped_key is null))
);
create unique index data_keys_one_active on app.data_keys (tenant_id, purpose) where status = 'active';
-- No statistics: see app.tenants.
alter table app.data_keys
  alter column wrapped_key set statistics 0;

select app.enforce_tenant('app.data_keys');
grant select, insert (id, tenant_id, purpose, kms_key_arn, wrapped_key),
  update (status, kms_key_arn, wrapped_key, retired_at, destroyed_at) on app.data_keys to identity_vault;
create policy resolver_open on app.data_keys for select to identity_resolver
  using (tenant_id = (select app.current_tenant()));
grant select (id, tenant_id, kms_key_arn, wrapped_key) on app.data_keys to identity_resolver;

create table app.vendor_accounts (
  id              uuid primary key default gen_random_uuid(),
  tenant_id       uuid not null references app.tenants,
  vendor          text not null references app.vendors,
  label           app.one_line check (length(label) between 1 and 100),
  account_number  text not null check (length(account_number) between 1 and 100),
  status          text not null check (status in ('verified', 'unverified', 'revoked')),
  verified_at     timestamptz,
  checked_at      timestamptz,
  last_error      text check (last_error ~ '^[a-z_]{1,40}$'),
  created_by      uuid default app.current_actor() references app.users,
  created_at      timestamptz not null default now(),
  rotated_at      timestamptz,
  revoked_at      timestamptz,
  secret_version  integer not null default 1 check (secret_version > 0),
  sealed_secret   bytea check (length(sealed_secret) between 45 and 16384),
  data_key_id     uuid,
  data_key_usable boolean generated always as (case when data_key_id is not null then true end) stored,
  unique (id, tenant_id),
  unique (id, tenant_id, vendor),
  constraint vendor_accounts_key_is_usable
    foreign key (data_key_id, tenant_id, data_key_usable) references app.data_keys (id, tenant_id, usable),
  check ((sealed_secret is null) = (data_key_id is null)),
  check ((status = 'revoked') = (sealed_secret is null) and (status = 'revoked') = (revoked_at is not null))
);
create index vendor_accounts_by_age on app.vendor_accounts (tenant_id, created_at, id);
create index vendor_accounts_by_data_key on app.vendor_accounts (data_key_id) where data_key_id is not null;
-- No statistics: see app.tenants.
alter table app.vendor_accounts
  alter column label set statistics 0,
  alter column account_number set statistics 0,
  alter column sealed_secret set statistics 0;

select app.enforce_tenant('app.vendor_accounts');
-- identity_app may write an encrypted secret but not read one.
grant select (id, tenant_id, vendor, label, account_number, status, verified_at, checked_at, last_error, created_by, created_at,
              rotated_at, revoked_at, secret_version),
  insert (id, tenant_id, vendor, label, account_number, status, verified_at, checked_at, last_error, sealed_secret,
          data_key_id),
  update (status, verified_at, checked_at, last_error, rotated_at, revoked_at, secret_version, sealed_secret, data_key_id)
  on app.vendor_accounts to identity_app;
grant select (id, tenant_id, vendor, account_number, status, verified_at, secret_version, data_key_id),
  update (status, verified_at, checked_at, last_error, revoked_at, sealed_secret, data_key_id)
  on app.vendor_accounts to identity_vault;
create policy resolver_open on app.vendor_accounts for select to identity_resolver
  using (tenant_id = (select app.current_tenant()));
grant select (id, tenant_id, vendor, account_number, secret_version, sealed_secret, data_key_id)
  on app.vendor_accounts to identity_resolver;

-- Keeps the version of a secret from decreasing. Encryption binds a secret to its version, so nobody can restore an
-- earlier secret.
create function app.secret_versions_grow() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  if new.secret_version < old.secret_version then
    raise exception 'a secret version must not decrease' using errcode = '23514';
  end if;
  return new;
end
$$;
comment on function app.secret_versions_grow is 'callers: none';
create trigger vendor_accounts_versions_grow before update on app.vendor_accounts
  for each row execute function app.secret_versions_grow();

-- A secret is opened in two transactions. The first writes the audit entry, the second reads the ciphertext. So a caller that rolls
-- back, or crashes, leaves the entry of every ciphertext it got. An entry may have no opening.
create policy resolver_openings on app.audit_log for select to identity_resolver
  using (tenant_id = (select app.current_tenant()) and action = 'vendor_account.opened');
grant select (id, tenant_id, occurred_at, action, target_id) on app.audit_log to identity_resolver;

-- Writes the audit entry of an opening and returns its id. Returns null, and writes nothing, when the account does not exist in
-- the transaction's tenant or its secret was erased.
create function app.record_opening(
    p_account uuid, p_reason text, p_request_id text, p_client_request_id text)
  returns uuid
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_entry uuid;
begin
  insert into app.audit_log (tenant_id, actor_user_id, action, target_type, target_id, after, request_id, client_request_id)
  select a.tenant_id, app.current_actor(), 'vendor_account.opened', 'vendor_account', a.id,
         jsonb_build_object('reason', p_reason, 'secret_version', a.secret_version), p_request_id, p_client_request_id
    from app.vendor_accounts a
    join app.data_keys k on k.id = a.data_key_id and k.tenant_id = a.tenant_id
   where a.id = p_account and a.tenant_id = app.current_tenant()
  returning id into v_entry;
  return v_entry;
end
$$;
comment on function app.record_opening is
  'owner: identity_resolver; proof: scope; callers: identity_vault; '
  'definer: writes the entry that app.open_vendor_secret wants';

-- Returns the encrypted secret of an account, with its data key, for an audit entry of app.record_opening that is at most 30
-- seconds old. Returns no row for the entry of another account, and for one of this transaction: an entry that is older than
-- the transaction and visible was committed. identity_vault may not write the time of an entry. Nothing else returns a ciphertext.
create function app.open_vendor_secret(p_account uuid, p_entry uuid)
  returns table (vendor text, account_number text, secret_version integer, sealed_secret bytea,
                 data_key_id uuid, kms_key_arn text, wrapped_key bytea)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select a.vendor, a.account_number, a.secret_version, a.sealed_secret, a.data_key_id, k.kms_key_arn, k.wrapped_key
      from app.vendor_accounts a
      join app.data_keys k on k.id = a.data_key_id and k.tenant_id = a.tenant_id
     where a.id = p_account and a.tenant_id = app.current_tenant()
       and exists (select from app.audit_log e
                    where e.tenant_id = a.tenant_id and e.id = p_entry and e.action = 'vendor_account.opened' and e.target_id = a.id
                      and e.occurred_at < now() and e.occurred_at > now() - interval '30 seconds');
end
$$;
comment on function app.open_vendor_secret is
  'owner: identity_resolver; proof: scope, audit entry; callers: identity_vault, identity_gate; '
  'definer: reads encrypted secrets, which no login may';

-- Other services open secrets through the job open-credential. It signs in as identity_opener, which reaches no table, stays in no
-- tenant, and has these two functions alone. They take the id of a tenant as it comes, so SQL that is injected there can do what
-- the job can: open secrets of open tenants, at most 60 a minute of each, and each after a committed audit entry.
create policy gate_choose on app.vendor_accounts for select to identity_gate
  using (tenant_id = (select app.current_tenant()));
grant select (id, tenant_id, vendor, status, verified_at, last_error, secret_version, data_key_id) on app.vendor_accounts to identity_gate;
grant insert (id) on app.audit_log to identity_gate;

-- Writes the audit entry of an opening by a service. Returns the entry and its account: the tenant's account with the vendor that
-- was verified last, without those whose secret the vendor refused. Returns nulls, and writes nothing, when the tenant is not
-- open, has no such account, or had 60 openings within a minute: retry_after_seconds is then not null.
create function app.record_opening_for_service(
    p_tenant uuid, p_vendor text, p_service text, p_reason text, p_request_id text,
    out entry_id uuid, out account_id uuid, out retry_after_seconds integer)
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_version integer;
  v_counted record;
begin
  perform from app.tenants t where t.id = p_tenant and t.deleted_at is null and app.is_open(t.status);
  if not found then
    return;
  end if;
  perform app.set_tenant(p_tenant);
  select a.id, a.secret_version into account_id, v_version from app.vendor_accounts a
   where a.vendor = p_vendor and a.data_key_id is not null and a.last_error is distinct from 'refused'
   order by a.status = 'verified' desc, a.verified_at desc nulls last, a.id limit 1;
  perform app.set_tenant(null);
  if account_id is null then
    return;
  end if;
  v_counted := app.count_attempt(row(sha256(convert_to('open-credential', 'UTF8') || uuid_send(p_tenant)), 60, 60)::app.limit);
  if not v_counted.allowed then
    account_id := null;
    retry_after_seconds := v_counted.retry_after_seconds;
    return;
  end if;
  entry_id := gen_random_uuid();
  insert into app.audit_log (id, tenant_id, action, target_type, target_id, after, request_id)
  values (entry_id, p_tenant, 'vendor_account.opened', 'vendor_account', account_id,
          jsonb_build_object('reason', p_reason, 'service', p_service, 'secret_version', v_version), p_request_id);
end
$$;
comment on function app.record_opening_for_service is
  'owner: identity_gate; proof: none; callers: identity_opener; definer: finds an account of any open tenant';

-- Returns what app.open_vendor_secret returns in that tenant. Leaves the tenant.
create function app.open_secret_for_service(p_tenant uuid, p_account uuid, p_entry uuid)
  returns table (vendor text, account_number text, secret_version integer, sealed_secret bytea,
                 data_key_id uuid, kms_key_arn text, wrapped_key bytea)
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  perform app.set_tenant(p_tenant);
  return query select * from app.open_vendor_secret(p_account, p_entry);
  perform app.set_tenant(null);
end
$$;
comment on function app.open_secret_for_service is
  'owner: identity_gate; proof: audit entry; callers: identity_opener; definer: sets a tenant without its ticket';

select app.grant_permission('vendor.manage', 'owner', 'admin');

-- The class of each column (infra/data-classification.md).
comment on table app.vendors is
  'platform: code, name, adapter; '
  'kept: always';
comment on table app.data_keys is
  'secret: wrapped_key; tenant: id, tenant_id, purpose, status, usable, created_at, retired_at, destroyed_at; '
  'platform: kms_key_arn; '
  'kept: always, without the wrapped key once it is destroyed';
comment on table app.vendor_accounts is
  'secret: sealed_secret; linked: created_by; tenant: id, tenant_id, vendor, label, account_number, status, '
  'verified_at, checked_at, last_error, created_at, rotated_at, revoked_at, secret_version, data_key_id, '
  'data_key_usable; '
  'kept: always, without the secret once it is revoked';

select app.give(
  'app.secret_versions_grow', 'app.record_opening', 'app.open_vendor_secret', 'app.record_opening_for_service',
  'app.open_secret_for_service');
