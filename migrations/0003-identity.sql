-- Tenants, users, roles, memberships.
set local role identity_owner;

create table app.tenants (
  id           uuid primary key default gen_random_uuid(),
  slug         text collate app.case_insensitive not null unique,
  legal_name   text not null check (length(legal_name) between 1 and 200),
  status       text not null default 'trial' check (status in ('trial', 'active', 'past_due', 'suspended', 'cancelled')),
  timezone     text not null default 'America/New_York',
  currency     text not null default 'USD' check (currency ~ '^[A-Z]{3}$'),
  settings     jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  suspended_at timestamptz,
  created_at   timestamptz not null default now(),
  deleted_at   timestamptz,
  constraint tenants_slug_is_url_safe check (slug collate "C" ~ '^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$')
);
select app.enforce_tenant('app.tenants', 'id');
grant select on app.tenants to identity_app;
-- SELECT ... FOR SHARE, which keeps a tenant from being suspended under a sign-in, asks for UPDATE on some column.
grant update (settings) on app.tenants to identity_app;

create table app.users (
  id                uuid primary key default gen_random_uuid(),
  email             text collate app.case_insensitive not null,
  email_verified_at timestamptz,
  password_hash     text,
  full_name         text check (length(full_name) <= 200),
  avatar_url        text check (length(avatar_url) <= 2000),
  last_login_at     timestamptz,
  created_at        timestamptz not null default now(),
  disabled_at       timestamptz,
  constraint users_email_key unique (email),
  constraint users_email_is_ascii check (email collate "C" ~ '^[!-~]+@[!-~]+$' and length(email) <= 254)
) with (fillfactor = 90);
grant select on app.users to identity_app;
grant insert (id, email, email_verified_at, password_hash, full_name) on app.users to identity_app;
grant update (email_verified_at, password_hash, full_name, avatar_url, last_login_at) on app.users to identity_app;

create table app.roles (
  id    smallint primary key,
  code  text not null unique,
  label text not null,
  rank  integer not null
);
grant select on app.roles to identity_app;

create table app.role_permissions (
  role_id    smallint not null references app.roles,
  permission text not null,
  primary key (role_id, permission)
);
grant select on app.role_permissions to identity_app;

create table app.memberships (
  id          uuid primary key default gen_random_uuid(),
  tenant_id   uuid not null references app.tenants,
  user_id     uuid not null references app.users,
  role_id     smallint not null references app.roles,
  invited_by  uuid references app.users,
  accepted_at timestamptz,
  revoked_at  timestamptz,
  created_at  timestamptz not null default now(),
  constraint memberships_one_per_person unique (tenant_id, user_id),
  -- What other tables reference, so that none points into another tenant. The id comes first: with the tenant first, the
  -- planner takes this index for the one above, and a session check reads the memberships of the whole tenant.
  unique (id, tenant_id)
);
create index memberships_by_user on app.memberships (user_id);
select app.enforce_tenant('app.memberships');
grant select on app.memberships to identity_app;
grant insert (id, tenant_id, user_id, role_id, invited_by, accepted_at) on app.memberships to identity_app;
grant update (role_id, invited_by, accepted_at, revoked_at) on app.memberships to identity_app;

insert into app.roles (id, code, label, rank) values
  (1, 'owner', 'Owner', 100),
  (2, 'admin', 'Admin', 90),
  (3, 'sales', 'Sales', 60),
  (4, 'account', 'Account Manager', 60),
  (5, 'designer', 'Designer', 50),
  (6, 'production', 'Production', 40),
  (7, 'viewer', 'Viewer', 10);

insert into app.role_permissions (role_id, permission)
select r.id, p.permission
from (values
  ('company.read',     array['owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer']),
  ('company.write',    array['admin']),
  ('customer.read',    array['owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer']),
  ('customer.write',   array['admin', 'sales', 'account']),
  ('deal.read',        array['owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer']),
  ('deal.write',       array['admin', 'sales', 'account']),
  ('deal.price.read',  array['admin', 'sales', 'account']),
  ('deal.price.write', array['admin', 'sales']),
  ('design.read',      array['owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer']),
  ('design.write',     array['admin', 'designer']),
  ('design.approve',   array['admin']),
  ('catalog.read',     array['owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer']),
  ('member.manage',    array['owner', 'admin']),
  ('vendor.manage',    array['owner', 'admin']),
  ('*',                array['owner'])
) as p(permission, codes)
join app.roles r on r.code = any (p.codes);
