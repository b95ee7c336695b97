-- The tags of each tenant: short names for its deals.
set local role identity_owner;

create table app.tags (
  id        uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references app.tenants,
  name      text not null check (length(name) between 1 and 40),
  unique (tenant_id, name)
);
select app.enforce_tenant('app.tags');
grant select, insert (tenant_id, name) on app.tags to identity_app;
comment on table app.tags is 'tenant: id, tenant_id, name';
