-- Memberships: a user in a tenant, with a role.
set local role identity_owner;

create table app.memberships (
  id          uuid primary key default gen_random_uuid(),
  tenant_id   uuid not null references app.tenants,
  user_id     uuid not null references app.users,
  role_id     integer not null,
  -- Zeros for a role of the platform. With it, a membership cannot have a role of another tenant.
  role_scope  uuid not null generated always as (
    case when role_id < 100 then '00000000-0000-0000-0000-000000000000'::uuid else tenant_id end) stored
    check (role_scope = coalesce(tenant_id, '00000000-0000-0000-0000-000000000000') or role_scope = '00000000-0000-0000-0000-000000000000'),
  invited_by  uuid references app.users,
  accepted_at timestamptz,
  revoked_at  timestamptz,
  created_at  timestamptz not null default now(),
  -- The open invitation of a user who has never accepted one. Deleting the invitation deletes such a membership, and only
  -- such a one: see the foreign key in 0009 and the check below.
  invitation_id uuid,
  constraint memberships_accepted_outlive_their_invitation check (accepted_at is null or invitation_id is null),
  constraint memberships_role foreign key (role_scope, role_id) references app.roles (scope, id),
  constraint memberships_one_per_person unique (tenant_id, user_id),
  -- Other tables reference this key, so that no row points into another tenant. The id comes first. With the tenant first,
  -- the planner would prefer this index to the one above, and a session check would read every membership of the tenant.
  unique (id, tenant_id)
);
create index memberships_by_user on app.memberships (user_id);
create index memberships_by_age on app.memberships (tenant_id, created_at, id);
create index memberships_by_invitation on app.memberships (invitation_id) where invitation_id is not null;
select app.enforce_tenant('app.memberships');

grant select, update (role_id, invited_by, revoked_at) on app.memberships to identity_app;

create policy operator_read on app.memberships for select to identity_operator using (true);
grant select, insert (tenant_id, user_id, role_id, invitation_id) on app.memberships to identity_operator;

create policy resolver_read on app.memberships for select to identity_resolver using (true);
grant select on app.memberships to identity_resolver;
create policy gate on app.memberships to identity_gate using (true);
grant select, insert (tenant_id, user_id, role_id, invited_by, accepted_at, invitation_id),
  update (role_id, invited_by, accepted_at, revoked_at, invitation_id, created_at) on app.memberships to identity_gate;

-- A tenant sees its members and former members. It sees nobody who was only invited: it must not learn whether there is a user.
-- The guard of app.memberships limits the subquery to the transaction's tenant.
create policy people_of_tenant on app.users for select to identity_app
  using (exists (select from app.memberships m where m.user_id = users.id and m.accepted_at is not null));

-- Raises TN409 when a change removes the last owner of a tenant who can sign in. Locks the tenant before it counts owners.
-- When two owners remove each other concurrently, the second change waits for the first commit, counts, and fails. The
-- operators' command that disables a user takes the same lock.
create function app.keep_an_owner() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  if old.role_id <> 1 or old.accepted_at is null or old.revoked_at is not null
     or (tg_op = 'UPDATE' and new.tenant_id = old.tenant_id and new.role_id = 1 and new.accepted_at is not null and new.revoked_at is null) then
    return null;
  end if;
  perform from app.tenants t where t.id = old.tenant_id for no key update;
  if not exists (select from app.memberships m join app.users u on u.id = m.user_id and u.disabled_at is null
                  where m.tenant_id = old.tenant_id and m.role_id = 1
                    and m.accepted_at is not null and m.revoked_at is null) then
    raise exception 'a tenant needs at least one owner who can sign in' using errcode = 'TN409';
  end if;
  return null;
end
$$;
comment on function app.keep_an_owner is 'callers: none';
create trigger memberships_keep_an_owner after update or delete on app.memberships
  for each row execute function app.keep_an_owner();

-- The class of each column (infra/data-classification.md).
comment on table app.memberships is
  'linked: id, user_id, invited_by, invitation_id; tenant: tenant_id, role_id, role_scope, accepted_at, revoked_at, created_at';

select app.give('app.keep_an_owner');
