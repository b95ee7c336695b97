-- The tags of each tenant: short names for its deals.
set local role identity_owner;

create table app.tags (
  id         uuid primary key default gen_random_uuid(),
  tenant_id  uuid not null references app.tenants,
  name       app.one_line not null check (length(name) between 1 and 40),
  words      int,
  created_at timestamptz not null default now(),
  unique (tenant_id, name)
);
create index tags_by_age on app.tags (created_at);
alter table app.tags alter column name set statistics 0;
select app.enforce_tenant('app.tags');
grant select (id, tenant_id, name), insert (tenant_id, name), delete on app.tags to identity_app;
grant select (id, tenant_id, name), update (words) on app.tags to identity_worker;
comment on table app.tags is 'tenant: id, tenant_id, name, words, created_at; kept: 400 days, by app.delete_old_tags';

select app.grant_permission('tag.read', 'admin', 'sales', 'viewer');
select app.grant_permission('tag.write', 'admin', 'sales');
insert into app.key_permissions values ('tag.read'), ('tag.write');

insert into app.event_actions values
  ('tag.created', '{}'),
  ('tag.deleted', '{}');

-- Returns the tags of all tenants in which the user of the session may read them.
create function app.tags_of_user(p_ticket bytea) returns table (name text)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  return query
    select g.name::text
      from app.check_ticket(p_ticket, 'session') ticket
      join app.sessions s on s.id = ticket.session_id
      join app.users u on u.id = s.user_id and u.disabled_at is null
      join app.memberships m on m.user_id = s.user_id and m.accepted_at is not null and m.revoked_at is null
      join app.tenants t on t.id = m.tenant_id and t.deleted_at is null and app.is_open(t.status)
      join app.roles r on r.id = m.role_id and r.permissions ?| array['tag.read', '*']
      join app.tags g on g.tenant_id = m.tenant_id
     where (s.revoked_at is null and s.idle_expires_at > now() and s.absolute_expires_at > now()) is not false;
end
$$;
comment on function app.tags_of_user is
  'owner: identity_resolver; proof: ticket; callers: identity_app; definer: reads the tags of a user in all tenants';
grant select (tenant_id, name) on app.tags to identity_resolver;
create policy resolver_read on app.tags for select to identity_resolver using (true);
comment on policy resolver_read on app.tags is 'lists the tags of a user';

-- Deletes up to p_batch tags that are older than 400 days, and returns how many.
create function app.delete_old_tags(p_batch integer) returns integer
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_deleted integer;
begin
  delete from app.tags where id = any (array(
    select g.id from app.tags g where g.created_at < now() - interval '400 days' order by g.created_at limit p_batch));
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;
comment on function app.delete_old_tags is
  'owner: identity_gate; proof: none; callers: identity_worker; definer: deletes old tags of all tenants';
grant select (id, created_at), delete on app.tags to identity_gate;
create policy gate_old on app.tags to identity_gate using (created_at < now() - interval '400 days');
comment on policy gate_old on app.tags is 'deletes the tags that are older than 400 days';

select app.give('app.tags_of_user', 'app.delete_old_tags');
