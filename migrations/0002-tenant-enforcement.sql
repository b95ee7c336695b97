-- How a tenant is set, and how a table is put under its guard. `app.tenant_id`, `app.set_tenant` and
-- `app.enforce_tenant` are public: other services on this database may build on them.
set local role identity_owner;

grant usage on schema app to identity_app, identity_worker, identity_operator, identity_resolver;

-- The tenant that the present transaction acts for, or null. On a reused connection an ended transaction leaves the
-- setting as '' and not as null, hence the nullif.
create function app.current_tenant() returns uuid
  language sql stable parallel safe
  return nullif(current_setting('app.tenant_id', true), '')::uuid;

-- Acts for one tenant until the transaction ends; null acts for none. A function and not a bare set_config, because
-- RDS Proxy pins a session that calls set_config itself.
create function app.set_tenant(p_tenant uuid) returns void
  language plpgsql
  as $$
begin
  perform set_config('app.tenant_id', coalesce(p_tenant::text, ''), true);
end
$$;

revoke all on function app.current_tenant(), app.set_tenant(uuid) from public;
grant execute on function app.current_tenant(), app.set_tenant(uuid) to identity_app, identity_worker, identity_operator, identity_resolver;

-- Puts a table under row security for the service's roles: they see and write only rows of the transaction's tenant, and none
-- when no tenant is set. Calling it again restores what was removed.
--   p_column       the column that holds the tenant's id (`id` for the tenants themselves)
--   p_system_rows  rows with a null tenant are the platform's: any tenant reads them, none writes them
create function app.enforce_tenant(p_table regclass, p_column name default 'tenant_id', p_system_rows boolean default false)
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
  execute format('alter table %s enable row level security', p_table);
  execute format('alter table %s force row level security', p_table);
  execute format('drop policy if exists tenant_read on %s', p_table);
  execute format('drop policy if exists tenant_insert on %s', p_table);
  execute format('drop policy if exists tenant_update on %s', p_table);
  execute format('drop policy if exists tenant_delete on %s', p_table);
  execute format('create policy tenant_read on %s for select to identity_app, identity_worker, identity_operator using (%s)', p_table, readable);
  execute format('create policy tenant_insert on %s for insert to identity_app, identity_worker, identity_operator with check (%s)', p_table, own);
  execute format('create policy tenant_update on %s for update to identity_app, identity_worker, identity_operator using (%s) with check (%s)', p_table, own, own);
  execute format('create policy tenant_delete on %s for delete to identity_app, identity_worker, identity_operator using (%s)', p_table, own);
end
$$;
revoke all on function app.enforce_tenant(regclass, name, boolean) from public;

-- Equal but for the case of letters. An index on such a column serves `=` under row security too, which citext and
-- lower() do not (their operators are not leakproof). Columns that use it hold printable ASCII only, so that no
-- two addresses that a mail server tells apart are one account here.
create collation app.case_insensitive (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
