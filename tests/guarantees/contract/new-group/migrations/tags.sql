-- The tags of each tenant: short names for its deals.
set local role identity_owner;

create table app.tags (
  id        uuid primary key default gen_random_uuid(),
  tenant_id uuid not null references app.tenants,
  name      text not null check (length(name) between 1 and 40),
  words     int,
  unique (tenant_id, name)
);
select app.enforce_tenant('app.tags');
grant select (id, tenant_id, name), insert (tenant_id, name), delete on app.tags to identity_app;
grant select (id, tenant_id, name), update (words) on app.tags to identity_worker;
comment on table app.tags is 'tenant: id, tenant_id, name, words';

select app.grant_permission('tag.read', 'admin', 'sales', 'viewer');
select app.grant_permission('tag.write', 'admin', 'sales');

insert into app.event_actions values
  ('tag.created', '{}'),
  ('tag.deleted', '{}');
