-- Single-use tokens: invitations, password resets and email verifications.
-- The table has no tenant guard: the service finds a token by its hash before it knows the tenant. It stores no token. The
-- mailer derives the token from a nonce in its job and a key that the database never sees.
set local role identity_owner;

create table app.tokens (
  id          uuid not null default gen_random_uuid(),
  token_hash  bytea primary key check (length(token_hash) = 32),
  purpose     text not null check (purpose in ('email_verify', 'invite', 'password_reset')),
  user_id     uuid references app.users,
  tenant_id   uuid references app.tenants,
  email       app.email_address,
  role_id     smallint references app.roles,
  invited_by  uuid references app.users,
  expires_at  timestamptz not null,
  consumed_at timestamptz,
  -- For a password reset, the time of the request: the mail may be sent later.
  created_at  timestamptz not null default now(),
  -- When the current token was issued: the id and created_at of an invitation outlive its tokens.
  issued_at   timestamptz not null default now(),
  constraint tokens_id_key unique (id, tenant_id),
  constraint tokens_hold_what_their_purpose_needs check (
    case purpose
      when 'invite' then tenant_id is not null and email is not null and role_id is not null
      else user_id is not null and tenant_id is null and role_id is null
    end)
);
create index tokens_open_by_user on app.tokens (user_id, purpose) where consumed_at is null;
create index tokens_by_expiry on app.tokens (expires_at);
-- An address has at most one open invitation to a tenant. Inviting it again replaces the hash in the same row.
create unique index tokens_one_open_invite on app.tokens (tenant_id, email) where purpose = 'invite' and consumed_at is null;
create index tokens_open_invites_by_age on app.tokens (tenant_id, created_at, id) where purpose = 'invite' and consumed_at is null;

-- A membership that was never accepted ends with its invitation, no matter who deletes that.
alter table app.memberships add foreign key (invitation_id, tenant_id) references app.tokens (id, tenant_id) on delete cascade;

-- No statistics: see app.tenants.
alter table app.tokens
  alter column token_hash set statistics 0,
  alter column email set statistics 0;

-- Whoever changes it: a token is used once, and a link never lives longer than its mail says. A new hash is a new link.
create trigger tokens_stay_consumed before update of consumed_at on app.tokens
  for each row when (old.consumed_at is not null and new.consumed_at is distinct from old.consumed_at)
  execute function app.refuse_change('a consumed token stays consumed');
create trigger tokens_expire_in_time before update of expires_at on app.tokens
  for each row when (new.expires_at > old.expires_at and new.token_hash = old.token_hash)
  execute function app.refuse_change('a token does not get more time');

-- Routes find every token by its hash, and write invitations of the set tenant alone. They only change other tokens: the mailer
-- issues those, and sees no invitation of another tenant. An operator has invitations alone, or could plant a password reset.
alter table app.tokens enable row level security, force row level security;
create policy app_read on app.tokens for select to identity_app using (true);
create policy app_insert on app.tokens for insert to identity_app
  with check (purpose = 'invite' and tenant_id = (select app.current_tenant()));
create policy app_update on app.tokens for update to identity_app
  using (purpose <> 'invite' or tenant_id = (select app.current_tenant()));
create policy app_delete on app.tokens for delete to identity_app
  using (purpose = 'invite' and tenant_id = (select app.current_tenant()));
create policy worker_read on app.tokens for select to identity_worker
  using (purpose <> 'invite' or tenant_id = (select app.current_tenant()) or expires_at < now());
create policy worker_insert on app.tokens for insert to identity_worker with check (purpose <> 'invite');
create policy worker_delete on app.tokens for delete to identity_worker using (expires_at < now());
create policy gate on app.tokens for select to identity_gate using (true);
create policy operator_invitations on app.tokens to identity_operator
  using (purpose = 'invite' and tenant_id = (select app.current_tenant()));

grant select, delete, insert (token_hash, purpose, user_id, tenant_id, email, role_id, invited_by, expires_at),
  update (token_hash, user_id, role_id, invited_by, expires_at, consumed_at, issued_at) on app.tokens to identity_app;
grant select, insert (token_hash, purpose, user_id, expires_at, created_at), delete on app.tokens to identity_worker;
grant select (id, purpose, tenant_id, email, consumed_at), insert (token_hash, purpose, user_id, tenant_id, email, role_id, expires_at),
  update (token_hash, role_id, invited_by, expires_at, issued_at) on app.tokens to identity_operator;

-- The open invitations of the transaction's tenant. Code that acts for a tenant reads tokens only through this view. It has
-- nothing of the user whom the address may belong to: a tenant must not learn whether there is one.
create view app.invitations with (security_invoker = true) as
select t.id, t.email, t.role_id, t.invited_by, t.created_at, t.issued_at, t.expires_at
  from app.tokens t
 where t.purpose = 'invite' and t.consumed_at is null and t.tenant_id = (select app.current_tenant());
grant select on app.invitations to identity_app;

-- Returns the ticket of an invitation by the hash of its token. An accepted invitation gets a ticket that only reads.
-- STABLE: it sees the same state of the invitation as the statement that calls it, also while another request changes it.
create function app.invitation_ticket(p_token_hash bytea) returns bytea
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
  select app.platform_ticket(t.tenant_id, t.consumed_at is null)
    from app.tokens t
   where t.token_hash = p_token_hash and t.purpose = 'invite' and (t.consumed_at is not null or t.expires_at > now())
$$;
revoke all on function app.invitation_ticket(bytea) from public;
grant execute on function app.invitation_ticket(bytea) to identity_app;
grant select (token_hash, purpose, tenant_id, expires_at, consumed_at) on app.tokens to identity_gate;
grant create on schema app to identity_gate;
alter function app.invitation_ticket(bytea) owner to identity_gate;
revoke create on schema app from identity_gate;

-- Returns whether a token with these values may still be consumed.
create function app.is_open_token(
    p_purpose text, p_user uuid, p_created_at timestamptz, p_consumed_at timestamptz, p_expires_at timestamptz)
  returns boolean
  language sql stable
  return p_consumed_at is null and p_expires_at > now()
         and (p_purpose <> 'password_reset'
              or p_created_at > (select u.resets_valid_from from app.users u where u.id = p_user));
revoke all on function app.is_open_token(text, uuid, timestamptz, timestamptz, timestamptz) from public;
grant execute on function app.is_open_token(text, uuid, timestamptz, timestamptz, timestamptz)
  to identity_app, identity_resolver;

-- Returns the tenants of the user whom a password reset is for: the new password must not resemble their names. Takes one
-- of two hashes, because the pepper may be rotating.
create function app.tenants_of_reset(p_token_hash bytea, p_previous bytea) returns table (slug text, legal_name text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
  select t.slug, t.legal_name
    from app.tokens r
    join app.memberships m on m.user_id = r.user_id and m.accepted_at is not null and m.revoked_at is null
    join app.tenants t on t.id = m.tenant_id and t.deleted_at is null
   where r.token_hash in (p_token_hash, p_previous) and r.purpose = 'password_reset'
     and app.is_open_token(r.purpose, r.user_id, r.created_at, r.consumed_at, r.expires_at)
$$;
create policy resolver_resets on app.tokens for select to identity_resolver using (purpose = 'password_reset');
grant select (token_hash, purpose, user_id, created_at, consumed_at, expires_at) on app.tokens to identity_resolver;
revoke all on function app.tenants_of_reset(bytea, bytea) from public;
grant execute on function app.tenants_of_reset(bytea, bytea) to identity_app;
grant create on schema app to identity_resolver;
alter function app.tenants_of_reset(bytea, bytea) owner to identity_resolver;
revoke create on schema app from identity_resolver;

-- The class of each column (infra/data-classification.md).
comment on table app.tokens is
  'secret: token_hash; personal: email; linked: id, user_id, invited_by; tenant: tenant_id, role_id; '
  'platform: purpose, expires_at, consumed_at, created_at, issued_at';
