-- Single-use tokens: invitations, password resets and email verifications.
-- The table has no row security: the service finds a token by its hash before it knows the tenant. It stores no token. The
-- mailer derives the token from a nonce in its job and a key that the database never sees.
set local role identity_owner;

create table app.tokens (
  id          uuid not null default gen_random_uuid(),
  token_hash  bytea primary key check (length(token_hash) = 32),
  purpose     text not null check (purpose in ('email_verify', 'invite', 'password_reset')),
  user_id     uuid references app.users,
  tenant_id   uuid references app.tenants,
  email       text collate app.case_insensitive,
  role_id     smallint references app.roles,
  invited_by  uuid references app.users,
  expires_at  timestamptz not null,
  consumed_at timestamptz,
  created_at  timestamptz not null default now(),
  constraint tokens_id_key unique (id),
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

grant select, delete, insert (token_hash, purpose, user_id, tenant_id, email, role_id, invited_by, expires_at),
  update (token_hash, user_id, role_id, invited_by, expires_at, consumed_at) on app.tokens to identity_app;
grant select, insert (token_hash, purpose, user_id, expires_at), delete on app.tokens to identity_worker;
grant select (id, purpose, tenant_id, email, consumed_at), insert (token_hash, purpose, user_id, tenant_id, email, role_id, expires_at),
  update (token_hash, expires_at) on app.tokens to identity_operator;

-- The open invitations of the transaction's tenant. Code that acts for a tenant reads tokens only through this view.
create view app.invitations with (security_invoker = true) as
select t.id, t.email, t.role_id, t.invited_by, t.user_id, t.created_at, t.expires_at
  from app.tokens t
 where t.purpose = 'invite' and t.consumed_at is null and t.tenant_id = app.current_tenant();
grant select on app.invitations to identity_app;

-- Allows an operator to write invitations of the transaction's tenant and no other token. Without it an operator could
-- plant a password reset for any user.
create function app.operators_write_invitations() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  if new.purpose = 'invite' and new.tenant_id = app.current_tenant() then
    return new;
  end if;
  raise exception 'an operator may only write invitations of the set tenant' using errcode = '42501';
end
$$;
revoke all on function app.operators_write_invitations() from public;
create trigger tokens_operators_write_invitations before insert or update on app.tokens
  for each row when (current_user = 'identity_operator') execute function app.operators_write_invitations();

-- The class of each column (infra/data-classification.md).
comment on table app.tokens is
  'secret: token_hash; personal: email; linked: id, user_id, invited_by; tenant: tenant_id, role_id; '
  'platform: purpose, expires_at, consumed_at, created_at';
