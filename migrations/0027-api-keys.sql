-- API keys: what a program of a tenant shows to the API instead of a session. A key belongs to its tenant and not to the person who made
-- it, so it stays when they leave. It has permissions of its own, and it expires. It has more than 300 lines, because a noun is one file.
-- Nobody deletes a row: the rows are also the record of who had access.
set local role identity_owner;

-- What an API key may hold: the permissions of shared/identity/permissions.ts that have `keys`. A test compares both.
create table app.key_permissions (
  permission text primary key
);
insert into app.key_permissions values
  ('catalog.read'), ('company.read'), ('customer.read'), ('customer.write'), ('deal.price.read'), ('deal.price.write'), ('deal.read'),
  ('deal.write'), ('design.read'), ('design.write');
grant select on app.key_permissions to identity_gate;
comment on table app.key_permissions is 'platform: permission; kept: always';

create table app.api_keys (
  id                  uuid primary key default gen_random_uuid(),
  tenant_id           uuid not null references app.tenants,
  name                app.one_line not null check (length(name) between 1 and 60),
  key_hash            app.hash not null unique,
  -- The last characters of the key, by which people recognize it.
  hint                text not null check (hint ~ '^[0-9A-Za-z]{4}$'),
  -- How often it was rotated. A ticket says which generation was sent.
  generation          integer not null default 0,
  -- The key before the last rotation, and how long it is valid too.
  previous_hash       app.hash unique,
  previous_expires_at timestamptz,
  created_by          uuid not null references app.users,
  created_at          timestamptz not null default now(),
  expires_at          timestamptz not null,
  -- To the minute.
  last_used_at        timestamptz,
  rotated_at          timestamptz,
  revoked_at          timestamptz,
  -- Null: an operator revoked it, or whoever had it.
  revoked_by          uuid references app.users,
  -- The shortest notice before its expiry that was mailed, in days.
  warned_days         integer check (warned_days in (14, 3)),
  check ((previous_hash is null) = (previous_expires_at is null)),
  check (revoked_by is null or revoked_at is not null),
  unique (id, tenant_id),
  -- As sessions_revocation_is_a_key_change: a revocation waits for the writes of the key, and the time of its use does not.
  constraint api_keys_revocation_is_a_key_change unique (tenant_id, id, revoked_at)
) with (fillfactor = 70);
create index api_keys_by_age on app.api_keys (tenant_id, created_at, id);
create index api_keys_by_expiry on app.api_keys (expires_at) where revoked_at is null;
-- No statistics: see app.tenants.
alter table app.api_keys alter column name set statistics 0, alter column key_hash set statistics 0,
  alter column previous_hash set statistics 0, alter column hint set statistics 0;
create trigger api_keys_stay_revoked before update of revoked_at on app.api_keys
  for each row when (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
  execute function app.refuse_change('a revoked key stays revoked');
select app.enforce_tenant('app.api_keys');
create policy gate on app.api_keys to identity_gate using (true);
comment on policy gate on app.api_keys is 'finds a key by its hash before its tenant is known';
grant select (id, tenant_id, name, hint, previous_expires_at, created_by, created_at, expires_at, last_used_at, rotated_at, revoked_at,
              revoked_by) on app.api_keys to identity_app;
grant select, insert (tenant_id, name, key_hash, hint, created_by, expires_at),
  update (name, key_hash, hint, generation, previous_hash, previous_expires_at, expires_at, last_used_at, rotated_at, revoked_at, revoked_by,
          warned_days) on app.api_keys to identity_gate;

-- They never change: another set of permissions is another key.
create table app.api_key_permissions (
  tenant_id  uuid not null references app.tenants,
  api_key_id uuid not null,
  permission text not null constraint api_key_permissions_of_keys references app.key_permissions,
  primary key (tenant_id, api_key_id, permission),
  foreign key (api_key_id, tenant_id) references app.api_keys (id, tenant_id)
);
create trigger api_key_permissions_stay before update or delete on app.api_key_permissions
  for each row execute function app.refuse_change('the permissions of a key never change');
select app.enforce_tenant('app.api_key_permissions');
create policy gate on app.api_key_permissions to identity_gate using (true);
comment on policy gate on app.api_key_permissions is 'reads the permissions of a key';
grant select on app.api_key_permissions to identity_app;
grant select, insert on app.api_key_permissions to identity_gate;

-- Who did it may be a key. Postgres checks the rows that are there by a query. There are none.
set local row_security = on;
alter table app.audit_log add foreign key (actor_key_id, tenant_id) references app.api_keys (id, tenant_id);
alter table app.designs add foreign key (created_by_key, tenant_id) references app.api_keys (id, tenant_id);
alter table app.deals add foreign key (created_by_key, tenant_id) references app.api_keys (id, tenant_id);
set local row_security = off;

-- Returns the keys of the advisory locks of the API keys of a tenant, and of one. A write of a key shares both. Whoever suspends the
-- tenant, or ends the key, waits for such writes, and blocks later ones.
create function app.lock_of_keys(p_tenant uuid) returns bigint
  language sql immutable
  return hashtextextended('keys of ' || p_tenant, 0);
comment on function app.lock_of_keys is 'callers: identity_gate, identity_operator';
create function app.lock_of_key(p_key uuid) returns bigint
  language sql immutable
  return hashtextextended('key ' || p_key, 0);
comment on function app.lock_of_key is 'callers: identity_gate, identity_operator';

-- Raises TN401 unless the key is live now in its open tenant, and the generation that was sent is the current one, or the previous one
-- while the two overlap. Raises TN403 when the key lacks the permission, and for what needs a step-up, which no key can do. A null
-- permission is none to check.
create function app.require_api_key(p_tenant uuid, p_key uuid, p_generation integer, p_permission text, p_step_up_seconds integer)
  returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform from app.api_keys k join app.tenants t on t.id = k.tenant_id and t.deleted_at is null and app.is_open(t.status)
    where k.id = p_key and k.tenant_id = p_tenant and k.revoked_at is null and k.expires_at > clock_timestamp()
      and (k.generation = p_generation or k.generation = p_generation + 1 and k.previous_expires_at > clock_timestamp());
  if not found then
    raise exception 'the API key is no longer live' using errcode = 'TN401';
  end if;
  if p_step_up_seconds is not null or p_permission is not null and not exists (
      select from app.api_key_permissions p
       where p.tenant_id = p_tenant and p.api_key_id = p_key and p.permission = p_permission) then
    raise exception 'the API key lacks the permission' using errcode = 'TN403';
  end if;
end
$$;
comment on function app.require_api_key is 'callers: identity_gate';

-- Sets the tenant and the key of a ticket for a write, after it locked and checked both again: see app.enter_to_write.
create function app.enter_by_key(
    p_tenant uuid, p_key uuid, p_generation integer, p_permission text, p_exclusive boolean, p_step_up_seconds integer)
  returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  if p_permission is null then
    raise exception 'a write of an API key needs a permission' using errcode = 'TN403';
  end if;
  if p_exclusive then
    perform from app.tenants t where t.id = p_tenant for no key update;
  end if;
  perform pg_advisory_xact_lock_shared(app.lock_of_keys(p_tenant));
  perform pg_advisory_xact_lock_shared(app.lock_of_key(p_key));
  perform from app.api_keys k where k.id = p_key for key share;
  perform app.require_api_key(p_tenant, p_key, p_generation, p_permission, p_step_up_seconds);
  perform app.set_tenant(p_tenant, p_key => p_key);
end
$$;
comment on function app.enter_by_key is 'callers: identity_gate';

-- The check of a key, in one round trip, as app.authenticate is for a session. Returns the live key of a hash with its tenant, its
-- permissions and a ticket, or no row. p_previous is the hash by the previous pepper: a key that it finds is stored by the current one.
-- Counts the request against p_most a minute, unless that is null. Over the limit the row has `retry_after_seconds`, and no ticket.
-- Writes the time of use when the last one is a minute ago. Call it in a transaction of its own, which then commits without waiting for the disk.
create function app.authenticate_key(p_hash bytea, p_previous bytea, p_most integer)
  returns table (key_id uuid, key_name text, expires_at timestamptz, tenant_id uuid, slug text, legal_name text, status text,
                 timezone text, currency text, permissions jsonb, ticket bytea, retry_after_seconds integer)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  set enable_seqscan = off
  set plan_cache_mode = force_generic_plan
  as $$
#variable_conflict use_column
declare
  v_key app.api_keys;
  v_sent integer;
  v_counted record;
begin
  select * into v_key from app.api_keys k where k.key_hash in (p_hash, p_previous);
  v_sent := v_key.generation;
  if not found then
    select * into v_key from app.api_keys k where k.previous_hash in (p_hash, p_previous);
    v_sent := v_key.generation - 1;
  end if;
  if (v_key.revoked_at is null and v_key.expires_at > now() and (v_sent = v_key.generation or v_key.previous_expires_at > now())) is not true then
    return;
  end if;
  select t.id, t.slug, t.legal_name::text, t.status, t.timezone, t.currency,
         (select coalesce(jsonb_agg(p.permission order by p.permission), '[]')
            from app.api_key_permissions p where p.tenant_id = t.id and p.api_key_id = v_key.id)
    into tenant_id, slug, legal_name, status, timezone, currency, permissions
    from app.tenants t where t.id = v_key.tenant_id and t.deleted_at is null and app.is_open(t.status);
  if not found then
    return;
  end if;
  key_id := v_key.id;
  key_name := v_key.name;
  expires_at := v_key.expires_at;
  perform set_config('synchronous_commit', 'off', true);
  if p_most is not null then
    v_counted := app.count_attempt(row(sha256(uuid_send(v_key.id)), p_most, 60)::app.limit);
    if not v_counted.allowed then
      retry_after_seconds := v_counted.retry_after_seconds;
      return next;
      return;
    end if;
  end if;
  if v_key.last_used_at is null or v_key.last_used_at < now() - interval '1 minute' then
    update app.api_keys k set last_used_at = now()
     where k.id = (select f.id from app.api_keys f where f.id = v_key.id for no key update skip locked);
  end if;
  if p_previous in (v_key.key_hash, v_key.previous_hash) then
    -- Nothing else knows both hashes. A write of the key blocks this, and a later request does it.
    update app.api_keys k
       set key_hash = case k.key_hash when p_previous then p_hash else k.key_hash end,
           previous_hash = case k.previous_hash when p_previous then p_hash else k.previous_hash end
     where k.id = (select f.id from app.api_keys f where f.id = v_key.id for update skip locked)
       and p_previous in (k.key_hash, k.previous_hash);
  end if;
  ticket := app.seal_ticket('key', tenant_id, v_key.id, p_role => v_sent);
  return next;
end
$$;
comment on function app.authenticate_key is
  'owner: identity_gate; proof: api key; callers: identity_app, identity_auth; '
  'definer: reads keys of all tenants before one is known, and seals a ticket';

-- Creates a key of the ticket's tenant in the name of its user, and mails the owners and them. Returns its id and times. Otherwise
-- returns why not, and changes nothing: `permission` with the place of the first that the user does not hold or a key may not hold,
-- `expires-at`, `key-exists` or `key-limit`. A key is live until p_expires_at, or for p_ttl_seconds without it.
create function app.create_api_key(
    p_ticket bytea, p_name text, p_permissions jsonb, p_hash bytea, p_hint text, p_expires_at timestamptz, p_ttl_seconds integer,
    p_max_seconds integer, p_most integer, p_source app.source, p_step_up_seconds integer default null)
  returns table (refusal text, place integer, id uuid)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
declare
  v_ticket record := app.check_ticket(p_ticket, 'session');
  v_held jsonb;
  v_expires_at timestamptz := coalesce(p_expires_at, now() + make_interval(secs => p_ttl_seconds));
begin
  perform app.enter_to_write(p_ticket, 'member.manage', true, p_step_up_seconds);
  select r.permissions into v_held
    from app.memberships m join app.roles r on r.id = m.role_id
   where m.tenant_id = v_ticket.tenant_id and m.user_id = v_ticket.user_id and m.accepted_at is not null and m.revoked_at is null;
  select min(p.place) - 1 into place
    from jsonb_array_elements_text(p_permissions) with ordinality as p (permission, place)
   where not exists (select from app.key_permissions k where k.permission = p.permission) or not app.holds(v_held, p.permission);
  refusal := case
    when place is not null then 'permission'
    when not app.is_life_of_key(v_expires_at, p_max_seconds) then 'expires-at'
    when app.key_name_taken(v_ticket.tenant_id, null, p_name) then 'key-exists'
    when p_most <= (select count(*) from app.api_keys k
                     where k.tenant_id = v_ticket.tenant_id and k.revoked_at is null and k.expires_at > now()) then 'key-limit' end;
  if refusal is not null then
    return next;
    return;
  end if;
  insert into app.api_keys as k (tenant_id, name, key_hash, hint, created_by, expires_at)
  values (v_ticket.tenant_id, p_name, p_hash, p_hint, v_ticket.user_id, v_expires_at) returning k.id into id;
  insert into app.api_key_permissions (tenant_id, api_key_id, permission)
  select distinct v_ticket.tenant_id, create_api_key.id, p.permission from jsonb_array_elements_text(p_permissions) as p (permission);
  perform app.audit_key(create_api_key.id, 'api_key.created', v_ticket.user_id, p_source, jsonb_build_object('name', p_name));
  perform app.mail_about_key(create_api_key.id, 'created');
  return next;
end
$$;
comment on function app.create_api_key is
  'owner: identity_gate; proof: ticket; callers: identity_app; definer: no login may write keys, or it could give itself one';

-- Whether a key may live until a time: for an hour at least, and p_max_seconds at most.
create function app.is_life_of_key(p_expires_at timestamptz, p_max_seconds integer) returns boolean
  language sql stable
  return p_expires_at between now() + interval '59 minutes' and now() + make_interval(secs => p_max_seconds) + interval '1 minute';
comment on function app.is_life_of_key is 'callers: identity_gate';

-- Whether another live key of the tenant has the name. Requires the lock of the tenant.
create function app.key_name_taken(p_tenant uuid, p_key uuid, p_name text) returns boolean
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  as $$
begin
  return exists (select from app.api_keys k
                    where k.tenant_id = p_tenant and k.id is distinct from p_key and k.revoked_at is null and k.expires_at > now()
                      and k.name collate app.case_insensitive = p_name collate app.case_insensitive);
end
$$;
comment on function app.key_name_taken is 'callers: identity_gate';

-- Appends an entry on a key to the audit log of its tenant. The event has nothing else than its id, its permissions and its expiry. A null
-- user is the platform, or whoever had the key.
create function app.audit_key(p_key uuid, p_action text, p_user uuid, p_source app.source, p_after jsonb default '{}') returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into app.audit_log (tenant_id, actor_user_id, actor_key_id, action, target_type, target_id, after, request_id, client_request_id, ip_hash)
  select k.tenant_id, p_user, null, p_action, 'api_key', k.id,
         p_after || jsonb_build_object(
           'permissions', (select coalesce(jsonb_agg(p.permission order by p.permission), '[]') from app.api_key_permissions p
                            where p.tenant_id = k.tenant_id and p.api_key_id = k.id),
           'expires_at', to_char(k.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
         p_source.request_id, p_source.client_request_id, app.tenant_ip_hash(p_source.ip_hash, k.tenant_id)
    from app.api_keys k where k.id = p_key;
end
$$;
comment on function app.audit_key is 'callers: identity_gate';

-- Adds a mail about a key of the transaction's tenant. That it was `created` goes to the owners and to who made it. That it expires goes to
-- who made it if they are still a member, and otherwise to the owners. Each gets one mail for each reason and expiry.
create function app.mail_about_key(p_key uuid, p_reason text) returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform app.enqueue('mail', jsonb_build_object('template', 'api-key', 'user_id', m.user_id, 'api_key_id', k.id, 'reason', p_reason),
                      'api-key ' || k.id || ' ' || p_reason || ' ' || extract(epoch from k.expires_at) || ' ' || m.user_id)
     from app.api_keys k join app.memberships m on m.tenant_id = k.tenant_id and m.accepted_at is not null and m.revoked_at is null
    where k.id = p_key and (
      m.user_id = k.created_by
      or m.role_id = 1 and (p_reason = 'created' or not exists (
        select from app.memberships c
         where c.tenant_id = k.tenant_id and c.user_id = k.created_by and c.accepted_at is not null and c.revoked_at is null)));
end
$$;
comment on function app.mail_about_key is 'callers: identity_gate';

-- For the job `maintain`: mails that keys expire in 14 and in 3 days, for up to p_batch keys, and returns for how many. A key that was made or
-- prolonged for a shorter time gets no mail of the longer one.
create function app.warn_of_expiring_keys(p_batch integer) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v record;
  v_warned integer := 0;
begin
  for v in
    select k.id, k.tenant_id, d.days
      from app.api_keys k
     cross join lateral (select case when k.expires_at <= now() + interval '3 days' then 3 else 14 end as days) d
     where k.revoked_at is null and k.expires_at > now() and k.expires_at <= now() + interval '14 days'
       and d.days < coalesce(k.warned_days, 15)
       and k.expires_at - coalesce(k.rotated_at, k.created_at) > make_interval(days => d.days)
     order by k.expires_at limit p_batch for no key update of k skip locked
  loop
    perform app.set_tenant(v.tenant_id);
    perform app.mail_about_key(v.id, 'expires-' || v.days);
    update app.api_keys k set warned_days = v.days where k.id = v.id;
    v_warned := v_warned + 1;
  end loop;
  if v_warned > 0 then
    perform app.set_tenant(null);
  end if;
  return v_warned;
end
$$;
comment on function app.warn_of_expiring_keys is
  'owner: identity_gate; proof: none; callers: identity_worker; definer: finds keys of all tenants, and adds mails in each';

-- Returns the recipient of a leased mail about a key, and the key. Returns no row when the user is no member any more, is disabled or
-- their mail bounced, or when the key ended, or expires at another time.
create function app.mail_of_key(p_job uuid, p_lease_token uuid)
  returns table (email text, language text, full_name text, slug text, legal_name text, timezone text, name text, permissions jsonb,
                 expires_at text, maker text)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select u.email::text, u.language, u.full_name::text, t.slug, t.legal_name::text, t.timezone, k.name::text,
           (select coalesce(jsonb_agg(p.permission order by p.permission), '[]') from app.api_key_permissions p
             where p.tenant_id = k.tenant_id and p.api_key_id = k.id),
           k.expires_at::text, c.email::text
      from app.leased_mail(p_job, p_lease_token) j
      join app.memberships m on m.user_id = (j.payload ->> 'user_id')::uuid and m.tenant_id = j.tenant_id
       and m.accepted_at is not null and m.revoked_at is null
      join app.users u on u.id = m.user_id and u.disabled_at is null and u.bounced_at is null
      join app.tenants t on t.id = m.tenant_id
      join app.api_keys k on k.id = (j.payload ->> 'api_key_id')::uuid and k.tenant_id = j.tenant_id and k.revoked_at is null
      join app.users c on c.id = k.created_by
     where j.payload ->> 'template' = 'api-key'
       and (j.payload ->> 'reason' = 'created' or k.expires_at between now() and now() + interval '15 days');
end
$$;
comment on function app.mail_of_key is
  'owner: identity_gate; proof: lease; callers: identity_mailer; definer: reads the recipient of a mail in any tenant';

-- Enters the tenant of a ticket to change a key of it, and locks the key: it waits for its writes in progress, and blocks later ones.
-- Returns the key, or nulls when the tenant has none with the id.
create function app.lock_api_key(p_ticket bytea, p_key uuid, p_step_up_seconds integer) returns app.api_keys
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_ticket record := app.check_ticket(p_ticket, 'session');
  v_key app.api_keys;
begin
  perform app.enter_to_write(p_ticket, 'member.manage', true, p_step_up_seconds);
  perform pg_advisory_xact_lock(app.lock_of_key(p_key));
  select k.* into v_key from app.api_keys k where k.id = p_key and k.tenant_id = v_ticket.tenant_id for update;
  return v_key;
end
$$;
comment on function app.lock_api_key is 'callers: identity_gate';

-- Renames a key. Returns why not: `not-found`, `key-ended` or `key-exists`, or null.
create function app.rename_api_key(p_ticket bytea, p_key uuid, p_name text, p_source app.source, p_step_up_seconds integer default null)
  returns text
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_key app.api_keys := app.lock_api_key(p_ticket, p_key, p_step_up_seconds);
begin
  if v_key.id is null then
    return 'not-found';
  elsif v_key.revoked_at is not null or v_key.expires_at <= now() then
    return 'key-ended';
  elsif app.key_name_taken(v_key.tenant_id, p_key, p_name) then
    return 'key-exists';
  elsif v_key.name <> p_name then
    update app.api_keys k set name = p_name where k.id = p_key;
    perform app.audit_key(p_key, 'api_key.renamed', app.acting_user(), p_source, jsonb_build_object('name', p_name));
  end if;
  return null;
end
$$;
comment on function app.rename_api_key is
  'owner: identity_gate; proof: ticket; callers: identity_app; definer: no login may write keys, or it could give itself one';

-- Replaces the secret of a key. The one before is valid for p_overlap_seconds more, and never longer than it was; the one before that ends
-- now. Without p_expires_at the key expires when it did. p_replaces, a time of milliseconds, is when the present secret was made: another one is not
-- replaced. Returns why not: `not-found`, `key-ended`, `key-rotated` or `expires-at`, or null.
create function app.rotate_api_key(
    p_ticket bytea, p_key uuid, p_hash bytea, p_hint text, p_overlap_seconds integer, p_expires_at timestamptz, p_max_seconds integer,
    p_source app.source, p_step_up_seconds integer default null, p_replaces timestamptz default null)
  returns text
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_key app.api_keys := app.lock_api_key(p_ticket, p_key, p_step_up_seconds);
begin
  if v_key.id is null then
    return 'not-found';
  elsif v_key.revoked_at is not null or v_key.expires_at <= now() then
    return 'key-ended';
  elsif p_replaces is not null and date_trunc('milliseconds', coalesce(v_key.rotated_at, v_key.created_at)) <> p_replaces then
    return 'key-rotated';
  elsif p_expires_at is not null and not app.is_life_of_key(p_expires_at, p_max_seconds) then
    return 'expires-at';
  end if;
  update app.api_keys k
     set key_hash = p_hash, hint = p_hint, generation = k.generation + 1, rotated_at = now(),
         previous_hash = k.key_hash, previous_expires_at = least(clock_timestamp() + make_interval(secs => p_overlap_seconds), k.expires_at),
         expires_at = coalesce(p_expires_at, k.expires_at), warned_days = case when p_expires_at is null then k.warned_days end
   where k.id = p_key;
  perform app.audit_key(p_key, 'api_key.rotated', app.acting_user(), p_source);
  return null;
end
$$;
comment on function app.rotate_api_key is
  'owner: identity_gate; proof: ticket; callers: identity_app; definer: no login may write keys, or it could give itself one';

-- Revokes a key of the ticket's tenant. Returns whether there is one. Revoking it again changes nothing.
create function app.revoke_api_key(p_ticket bytea, p_key uuid, p_source app.source, p_step_up_seconds integer default null) returns boolean
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_key app.api_keys := app.lock_api_key(p_ticket, p_key, p_step_up_seconds);
begin
  if v_key.id is not null and v_key.revoked_at is null then
    update app.api_keys k set revoked_at = now(), revoked_by = app.acting_user() where k.id = p_key;
    perform app.audit_key(p_key, 'api_key.revoked', app.acting_user(), p_source);
  end if;
  return v_key.id is not null;
end
$$;
comment on function app.revoke_api_key is
  'owner: identity_gate; proof: ticket; callers: identity_app; definer: no login may write keys, or it could give itself one';

-- Revokes the key of a hash for whoever has it: the current one, or the previous one while it is valid. The second hash is by the previous
-- pepper. Returns the key with its tenant, or no row when no live key has the hash. The audit entry has p_told.
create function app.revoke_sent_key(p_hash bytea, p_previous bytea, p_source app.source, p_told jsonb default '{}')
  returns table (id uuid, tenant_id uuid)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
declare
  v_key uuid;
begin
  select k.id into v_key from app.api_keys k
   where k.key_hash in (p_hash, p_previous) or k.previous_hash in (p_hash, p_previous) and k.previous_expires_at > clock_timestamp();
  if not found then
    return;
  end if;
  perform app.mark_revocation();
  perform pg_advisory_xact_lock(app.lock_of_key(v_key));
  update app.api_keys k set revoked_at = now() where k.id = v_key and k.revoked_at is null returning k.id, k.tenant_id into id, tenant_id;
  if found then
    perform app.audit_key(v_key, 'api_key.revoked', null, p_source, p_told || '{"by": "possession"}');
    return next;
  end if;
end
$$;
comment on function app.revoke_sent_key is
  'owner: identity_gate; proof: api key; callers: identity_app, identity_operator; definer: finds a key of any tenant by its hash';

-- Revokes a key by its id, for an operator, and returns its tenant. Returns null when no unrevoked key has the id. The audit entry has
-- p_told.
create function app.end_api_key(p_key uuid, p_source app.source, p_told jsonb) returns uuid
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_tenant uuid;
begin
  perform app.mark_revocation();
  perform pg_advisory_xact_lock(app.lock_of_key(p_key));
  update app.api_keys k set revoked_at = now() where k.id = p_key and k.revoked_at is null returning k.tenant_id into v_tenant;
  perform app.audit_key(p_key, 'api_key.revoked', null, p_source, p_told) where v_tenant is not null;
  return v_tenant;
end
$$;
comment on function app.end_api_key is
  'owner: identity_gate; proof: none; callers: identity_operator; definer: finds a key of any tenant by its id';

-- Returns the keys of a tenant, the newest first, for an operator.
create function app.api_keys_of_tenant(p_tenant uuid)
  returns table (id uuid, name text, hint text, permissions jsonb, status text, created_at timestamptz, expires_at timestamptz,
                 last_used_at timestamptz, revoked_at timestamptz)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select k.id, k.name::text, k.hint,
           (select coalesce(jsonb_agg(p.permission order by p.permission), '[]') from app.api_key_permissions p
             where p.tenant_id = k.tenant_id and p.api_key_id = k.id),
           case when k.revoked_at is not null then 'revoked' when k.expires_at <= now() then 'expired' else 'live' end,
           k.created_at, k.expires_at, k.last_used_at, k.revoked_at
      from app.api_keys k where k.tenant_id = p_tenant order by k.created_at desc, k.id desc;
end
$$;
comment on function app.api_keys_of_tenant is
  'owner: identity_gate; proof: none; callers: identity_operator; definer: lists the keys of any tenant';

-- The class of each column (infra/data-classification.md).
comment on table app.api_keys is
  'secret: key_hash, previous_hash; linked: created_by, revoked_by; '
  'tenant: id, tenant_id, name, hint, created_at, last_used_at; '
  'platform: generation, previous_expires_at, expires_at, rotated_at, revoked_at, warned_days; '
  'kept: always, as the record of who had access';
comment on table app.api_key_permissions is
  'tenant: tenant_id, api_key_id, permission; '
  'kept: always, as the record of who had access';

select app.give(
  'app.lock_of_keys', 'app.lock_of_key', 'app.require_api_key', 'app.enter_by_key', 'app.authenticate_key',
  'app.create_api_key', 'app.is_life_of_key', 'app.key_name_taken', 'app.audit_key', 'app.mail_about_key', 'app.warn_of_expiring_keys', 'app.mail_of_key', 'app.lock_api_key',
  'app.rename_api_key', 'app.rotate_api_key', 'app.revoke_api_key', 'app.revoke_sent_key', 'app.end_api_key', 'app.api_keys_of_tenant');
