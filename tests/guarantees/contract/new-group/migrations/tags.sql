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

-- Returns the tenants whose tags the user of the session may read.
create function app.tag_tenants(p_ticket bytea) returns table (tenant_id uuid)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select m.tenant_id
      from app.check_ticket(p_ticket, 'session') ticket
      join app.sessions s on s.id = ticket.session_id
      join app.users u on u.id = s.user_id and u.disabled_at is null
      join app.memberships m on m.user_id = s.user_id and m.accepted_at is not null and m.revoked_at is null
      join app.tenants t on t.id = m.tenant_id and t.deleted_at is null and app.is_open(t.status)
      join app.roles r on r.id = m.role_id and r.permissions ?| array['tag.read', '*']
     where (s.revoked_at is null and s.idle_expires_at > now() and s.absolute_expires_at > now()) is not false;
end
$$;
comment on function app.tag_tenants is
  'owner: identity_gate; proof: ticket; callers: identity_auth; definer: reads the memberships of a user in all tenants';

select app.give('app.tag_tenants');
