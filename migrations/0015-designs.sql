-- The designs of each tenant, and the files that belong to a design. The files themselves are stored elsewhere.
set local role identity_owner;

create table app.designs (
  id          uuid primary key default gen_random_uuid(),
  tenant_id   uuid not null references app.tenants,
  name        app.one_line not null check (length(name) between 1 and 120),
  approved_at timestamptz,
  -- The trigger below writes it.
  approved_by uuid references app.users,
  -- The user, or the API key (0027).
  created_by  uuid default app.acting_user() references app.users,
  created_by_key uuid default app.acting_key(),
  created_at  timestamptz not null default now(),
  unique (id, tenant_id),
  check (created_by is null or created_by_key is null),
  check ((approved_at is null) = (approved_by is null))
);
create index designs_by_age on app.designs (tenant_id, created_at, id);
-- For the overview.
create index designs_unapproved on app.designs (tenant_id) where approved_at is null;
select app.enforce_tenant('app.designs');
grant select, insert (tenant_id, name), update (approved_at) on app.designs to identity_app;

-- Whoever sets the time of an approval is the one who approves.
create function app.name_approver() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  new.approved_by := case when new.approved_at is not null then app.current_actor() end;
  return new;
end
$$;
comment on function app.name_approver is 'callers: none';
create trigger designs_name_approver before update of approved_at on app.designs
  for each row execute function app.name_approver();

create table app.design_assets (
  id         uuid primary key default gen_random_uuid(),
  tenant_id  uuid not null references app.tenants,
  design_id  uuid not null,
  file_name  app.one_line not null check (length(file_name) between 1 and 255 and file_name !~ '[/\\]|^[.]{1,2}$'),
  media_type text not null check (media_type ~ '^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$'),
  size_bytes bigint not null check (size_bytes between 1 and 1099511627776),
  sha256     text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  is_primary boolean not null default false,
  -- Not now(): transactions that wait for the lock on their design can begin in another order.
  created_at timestamptz not null default clock_timestamp(),
  foreign key (design_id, tenant_id) references app.designs (id, tenant_id)
);
create index design_assets_by_age on app.design_assets (tenant_id, design_id, created_at, id);
create unique index design_assets_one_primary on app.design_assets (tenant_id, design_id) where is_primary;
select app.enforce_tenant('app.design_assets');
grant select, insert (tenant_id, design_id, file_name, media_type, size_bytes, sha256, is_primary), update (is_primary), delete
  on app.design_assets to identity_app;

-- No statistics: see app.tenants.
alter table app.designs alter column name set statistics 0;
alter table app.design_assets alter column file_name set statistics 0;

select app.grant_permission('design.read',    'owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer');
select app.grant_permission('design.write',   'admin', 'designer');
select app.grant_permission('design.approve', 'admin');

-- The class of each column (infra/data-classification.md).
comment on table app.designs is
  'linked: approved_by, created_by, created_by_key; tenant: id, tenant_id, name, approved_at, created_at; '
  'kept: always';
comment on table app.design_assets is
  'tenant: id, tenant_id, design_id, file_name, media_type, size_bytes, sha256, is_primary, created_at; '
  'kept: until a member removes it';

select app.give('app.name_approver');
