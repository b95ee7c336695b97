-- Sessions and single-use tokens: the two stores that are exempt from tenant scoping, because each is found by a hash
-- before the user or the tenant is known. Neither keeps a raw token.
set local role identity_owner;

create table app.sessions (
  id                  uuid primary key default gen_random_uuid(),
  token_key           bytea not null unique check (length(token_key) = 32),
  user_id             uuid not null references app.users,
  tenant_id           uuid references app.tenants,
  idle_expires_at     timestamptz not null,
  absolute_expires_at timestamptz not null,
  csrf_secret         bytea not null check (length(csrf_secret) = 32),
  ip_hash             bytea check (length(ip_hash) = 32),
  user_agent          text check (length(user_agent) <= 512),
  created_at          timestamptz not null default now(),
  last_seen_at        timestamptz not null default now(),
  revoked_at          timestamptz,
  -- Makes revoked_at a key column, so that revoking takes the row's full lock and waits for FOR KEY SHARE, while the
  -- slide of the idle expiry (no key column) does not. See enter_tenant in 0005.
  constraint sessions_revocation_is_a_key_change unique (id, revoked_at)
) with (fillfactor = 70);
-- idle_expires_at and last_seen_at change with every request and are in no index: the slide stays a heap-only update.
create index sessions_live_by_user on app.sessions (user_id) where revoked_at is null;
create index sessions_live_by_tenant on app.sessions (tenant_id) where revoked_at is null;
create index sessions_live_by_expiry on app.sessions (absolute_expires_at) where revoked_at is null;
grant select on app.sessions to identity_app;
grant insert (id, token_key, user_id, idle_expires_at, absolute_expires_at, csrf_secret, ip_hash, user_agent)
  on app.sessions to identity_app;
grant update (tenant_id, idle_expires_at, last_seen_at, revoked_at) on app.sessions to identity_app;

create table app.tokens (
  token_hash  bytea primary key check (length(token_hash) = 32),
  purpose     text not null check (purpose in ('email_verify', 'invite', 'password_reset')),
  user_id     uuid references app.users,
  tenant_id   uuid references app.tenants,
  email       text collate app.case_insensitive,
  role_id     smallint references app.roles,
  expires_at  timestamptz not null,
  consumed_at timestamptz,
  created_at  timestamptz not null default now()
);
create index tokens_open_by_user on app.tokens (user_id, purpose) where consumed_at is null;
create index tokens_by_expiry on app.tokens (expires_at);
