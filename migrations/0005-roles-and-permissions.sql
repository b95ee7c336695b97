-- The roles of members and the permissions of each role. `*` grants every permission.
set local role identity_owner;

create table app.roles (
  id    smallint primary key,
  code  text not null unique,
  label text not null,
  rank  integer not null
);
grant select on app.roles to identity_app, identity_worker, identity_operator, identity_resolver, identity_gate;

create table app.role_permissions (
  role_id    smallint not null references app.roles,
  permission text not null,
  primary key (role_id, permission)
);
grant select on app.role_permissions to identity_app, identity_gate;

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
  ('audit.read',       array['owner', 'admin']),
  ('*',                array['owner'])
) as p(permission, codes)
join app.roles r on r.code = any (p.codes);

-- The class of each column (infra/data-classification.md).
comment on table app.roles is 'platform: id, code, label, rank';
comment on table app.role_permissions is 'platform: role_id, permission';
