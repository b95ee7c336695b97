-- A partition comes under the guard of its parent by itself, whoever makes it and by whichever statement: PostgreSQL
-- hands a partition neither row security nor policies.
set local role identity_owner;

-- As in 0002, but that the table is altered last, at once, and only where that changes something: every ALTER TABLE wakes
-- the event trigger below, which then finds nothing left to do.
create or replace function app.enforce_tenant(p_table regclass, p_column name default 'tenant_id', p_system_rows boolean default false)
  returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  own text := format('%I = (select app.current_tenant())', p_column);
  readable text := case when p_system_rows
    then format('%1$s or (%2$I is null and (select app.current_tenant()) is not null)', own, p_column)
    else own end;
begin
  execute format('drop policy if exists tenant_read on %s', p_table);
  execute format('drop policy if exists tenant_insert on %s', p_table);
  execute format('drop policy if exists tenant_update on %s', p_table);
  execute format('drop policy if exists tenant_delete on %s', p_table);
  execute format('create policy tenant_read on %s for select to identity_app, identity_worker, identity_operator using (%s)', p_table, readable);
  execute format('create policy tenant_insert on %s for insert to identity_app, identity_worker, identity_operator with check (%s)', p_table, own);
  execute format('create policy tenant_update on %s for update to identity_app, identity_worker, identity_operator using (%s) with check (%s)', p_table, own, own);
  execute format('create policy tenant_delete on %s for delete to identity_app, identity_worker, identity_operator using (%s)', p_table, own);
  if not (select c.relrowsecurity and c.relforcerowsecurity from pg_class c where c.oid = p_table) then
    execute format('alter table %s enable row level security, force row level security', p_table);
  end if;
end
$$;

-- As in 0009, but that the owner moves rows under a policy, and FORCE stays: lifted from a partition, it is back at once.
create or replace function app.create_audit_partition(p_month date) returns regclass
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_from timestamptz := date_trunc('month', p_month::timestamp) at time zone 'UTC';
  v_to timestamptz := (date_trunc('month', p_month::timestamp) + interval '1 month') at time zone 'UTC';
  v_table text := format('app.%I', 'audit_log_' || to_char(p_month, 'YYYY_MM'));
begin
  perform pg_advisory_xact_lock(hashtext('app.create_audit_partition'));
  if to_regclass(v_table) is null then
    -- Before anything else: an insert that was routed to the net already would be refused there once its month is taken out.
    lock table app.audit_log in share row exclusive mode;
    execute format('create table %s (like app.audit_log including defaults including constraints)', v_table);
    execute format('alter table %s add foreign key (tenant_id) references app.tenants,
                      add foreign key (actor_user_id) references app.users', v_table);
    create policy owner_moves on app.audit_log_default to identity_owner using (true);
    execute format('with moved as (delete from app.audit_log_default where occurred_at >= %L and occurred_at < %L returning *)
                    insert into %s select * from moved', v_from, v_to, v_table);
    drop policy owner_moves on app.audit_log_default;
    execute format('alter table app.audit_log attach partition %s for values from (%L) to (%L)', v_table, v_from, v_to);
  end if;
  perform app.enforce_tenant(v_table::regclass);
  return v_table::regclass;
end
$$;

-- Puts every partition, at any depth, of the tables that a statement made or changed under the guard of the parent, if
-- that has one: row security, the tenant policies over the same column, the parent's owner, and no privilege for anybody
-- else, since a partition is reached through its parent. Runs with the rights of whoever runs the statement.
create function app.guard_partitions() returns event_trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v record;
  v_grantees text;
begin
  for v in
    select distinct c.oid::regclass as name, guard.*, c.relowner
      from pg_event_trigger_ddl_commands() as command
      cross join lateral pg_partition_tree(command.objid) as tree
      join pg_class c on c.oid = tree.relid and c.relispartition
      cross join lateral (
        select parent.relowner as owner, a.attname as tenant_column,
               exists (select from pg_policy r where r.polrelid = parent.oid and r.polname = 'tenant_read'
                          and pg_get_expr(r.polqual, r.polrelid) like '% IS NULL%') as system_rows
          from pg_partition_ancestors(c.oid) as above
          join pg_class parent on parent.oid = above.relid
          join pg_policy p on p.polrelid = parent.oid and p.polname = 'tenant_insert'
           and pg_get_expr(p.polwithcheck, p.polrelid) like '%app.current_tenant()%'
          join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = p.oid
           and d.refclassid = 'pg_class'::regclass and d.refobjid = parent.oid and d.refobjsubid > 0
          join pg_attribute a on a.attrelid = parent.oid and a.attnum = d.refobjsubid
         where above.relid <> c.oid
         limit 1
      ) as guard
     where command.object_type in ('table', 'foreign table') and (
             not (c.relrowsecurity and c.relforcerowsecurity)
          or c.relowner <> guard.owner
          or 4 > (select count(*) from pg_policy p where p.polrelid = c.oid
                     and p.polname in ('tenant_read', 'tenant_insert', 'tenant_update', 'tenant_delete'))
          or exists (select from aclexplode(c.relacl) x where x.grantee <> c.relowner)
          or exists (select from pg_attribute a, aclexplode(a.attacl) x
                      where a.attrelid = c.oid and x.grantee <> c.relowner))
  loop
    if v.relowner <> v.owner then
      execute format('alter table %s owner to %I', v.name, pg_get_userbyid(v.owner));
    end if;
    perform app.enforce_tenant(v.name, v.tenant_column, v.system_rows);
    select string_agg(distinct case x.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(x.grantee)) end, ', ')
      into v_grantees
      from (select relacl as acl from pg_class where oid = v.name
            union all select attacl from pg_attribute where attrelid = v.name) as held, aclexplode(held.acl) x
     where x.grantee <> v.owner;
    if v_grantees is not null then
      execute format('revoke all on %s from %s cascade', v.name, v_grantees);
    end if;
  end loop;
end
$$;
revoke all on function app.guard_partitions() from public;

-- Only a superuser, and rds_superuser on Aurora, may make an event trigger. Without it nothing else is missing: a partition
-- that is made by hand has no guard and no grant, and the catalogue's check names it.
reset role;
-- allow opaque: whether the login may make an event trigger is found out by trying
do $$
begin
  create event trigger guard_partitions on ddl_command_end
    when tag in ('CREATE TABLE', 'ALTER TABLE', 'CREATE FOREIGN TABLE', 'CREATE SCHEMA')
    execute function app.guard_partitions();
exception when insufficient_privilege then
  raise warning 'the event trigger guard_partitions was not made, since % may not: a partition that is made by hand comes under no guard by itself', current_user;
end
$$;
