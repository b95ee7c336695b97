-- Users. A user has one password for all tenants.
set local role identity_owner;

create table app.users (
  id                uuid primary key default gen_random_uuid(),
  email             app.email_address not null,
  email_verified_at timestamptz,
  password_hash     text,
  -- `PersonName` (shared/schema/person-name.ts) refuses more.
  full_name         app.one_line check (length(full_name) <= 60 and full_name !~ '[@/]|[0-9]{7}'),
  avatar_url        text check (length(avatar_url) <= 2000),
  last_login_at     timestamptz,
  created_at        timestamptz not null default now(),
  disabled_at       timestamptz,
  -- Password resets that were requested before are void: the password has changed since, or the user was disabled.
  resets_valid_from timestamptz not null default '-infinity',
  constraint users_email_key unique (email)
) with (fillfactor = 90);

-- No statistics: see app.tenants.
alter table app.users
  alter column email set statistics 0,
  alter column password_hash set statistics 0,
  alter column full_name set statistics 0,
  alter column avatar_url set statistics 0;

-- Users belong to no tenant. Row security also keeps the columns of a user out of the error messages of functions that act for
-- others.
alter table app.users enable row level security, force row level security;
create policy app_all on app.users to identity_app using (true);
create policy worker_read on app.users for select to identity_worker using (true);
create policy operator_all on app.users to identity_operator using (true);
create policy resolver_read on app.users for select to identity_resolver using (true);
create policy gate on app.users for select to identity_gate using (true);

grant select, insert (id, email, email_verified_at, password_hash, full_name),
  update (email_verified_at, password_hash, last_login_at, resets_valid_from) on app.users to identity_app;
grant select (id, email, email_verified_at, full_name, disabled_at, resets_valid_from) on app.users to identity_worker;
grant select (id, email, full_name, disabled_at), update (disabled_at, resets_valid_from) on app.users to identity_operator;
grant select (id, disabled_at, resets_valid_from) on app.users to identity_resolver;
grant select (id, email, email_verified_at, full_name, avatar_url, disabled_at) on app.users to identity_gate;

-- The class of each column (infra/data-classification.md).
comment on table app.users is
  'secret: password_hash; personal: email, email_verified_at, full_name, avatar_url, last_login_at, created_at, '
  'disabled_at, resets_valid_from; linked: id';
