-- The database roles of the service, their settings, the schema `app`, and how a pooled connection is cleaned.
--
--   identity_owner     owns every object; is no superuser, so FORCE ROW LEVEL SECURITY binds it too
--   identity_auth      serves the route group `auth`: signing in, passwords, invitations; reads no table of users
--   identity_app       serves the other routes
--   identity_services  serves other services that have a key; reaches no table
--   identity_mailer    sends the mails; reads the mails that it has leased, and no table of users
--   identity_worker    runs the other jobs
--   identity_publisher sends the events; reaches no table
--   identity_opener    opens vendor secrets for other services; reaches no table
--   identity_operator  runs the operators' commands, which no route reaches
--   identity_vault     creates and reads data keys, decrypts and re-encrypts vendor secrets
--   identity_resolver  owns the SECURITY DEFINER functions that act before a tenant is known, or across tenants
--   identity_gate      owns the SECURITY DEFINER functions that check a proof and set the tenant; alone reads the seal
--   identity_ender     owns the SECURITY DEFINER functions that end what blocks a revocation; alone may end connections of others
--   tenant_bound       a group: the roles of other services on this database. It enters a tenant by proof (0021)
--   tenant_table_owner a group: the owners of those services' tables. It may call app.enforce_tenant
--
-- This file runs as the login that migrates. Every later file begins with `set local role identity_owner`, so that no
-- login owns an object.
do $$
begin
  if not exists (select from pg_roles where rolname = 'identity_owner') then
    create role identity_owner nologin noinherit;
  end if;
  if not exists (select from pg_roles where rolname = 'identity_auth') then
    create role identity_auth login noinherit nocreatedb nocreaterole;
  end if;
  if not exists (select from pg_roles where rolname = 'identity_app') then
    create role identity_app login noinherit nocreatedb nocreaterole;
  end if;
  if not exists (select from pg_roles where rolname = 'identity_services') then
    create role identity_services login noinherit nocreatedb nocreaterole;
  end if;
  if not exists (select from pg_roles where rolname = 'identity_mailer') then
    create role identity_mailer login noinherit nocreatedb nocreaterole;
  end if;
  if not exists (select from pg_roles where rolname = 'identity_worker') then
    create role identity_worker login noinherit nocreatedb nocreaterole;
  end if;
  if not exists (select from pg_roles where rolname = 'identity_publisher') then
    create role identity_publisher login noinherit nocreatedb nocreaterole;
  end if;
  if not exists (select from pg_roles where rolname = 'identity_opener') then
    create role identity_opener login noinherit nocreatedb nocreaterole;
  end if;
  if not exists (select from pg_roles where rolname = 'identity_operator') then
    create role identity_operator login noinherit nocreatedb nocreaterole;
  end if;
  if not exists (select from pg_roles where rolname = 'identity_vault') then
    create role identity_vault login noinherit nocreatedb nocreaterole;
  end if;
  if not exists (select from pg_roles where rolname = 'identity_resolver') then
    create role identity_resolver nologin noinherit;
  end if;
  if not exists (select from pg_roles where rolname = 'identity_gate') then
    create role identity_gate nologin noinherit;
  end if;
  if not exists (select from pg_roles where rolname = 'identity_ender') then
    create role identity_ender nologin noinherit;
  end if;
  if not exists (select from pg_roles where rolname = 'tenant_bound') then
    create role tenant_bound nologin noinherit;
  end if;
  if not exists (select from pg_roles where rolname = 'tenant_table_owner') then
    create role tenant_table_owner nologin noinherit;
  end if;
end
$$;

-- The creator of a role has the ADMIN option on it. Since PostgreSQL 16 it also needs the SET option to SET ROLE to it.
do $$
begin
  execute format('grant identity_owner to %I with inherit false, set true', current_user);
end
$$;
grant identity_resolver, identity_gate, identity_ender to identity_owner with inherit false, set true;

-- On Aurora, rds_superuser may grant it. Without it, a transaction that nobody ends keeps a revocation waiting (0008). The doctor reports that.
do $$
begin
  grant pg_signal_backend to identity_ender with inherit true, set false;
exception when insufficient_privilege then
  raise warning 'nothing ends a transaction that blocks a revocation: % may not grant pg_signal_backend', current_user;
end
$$;

-- Timeouts are settings of the roles, because SET pins a connection of RDS Proxy. A function waits at most 2.5 s for a
-- statement (shared/db/connection.ts), so no lock_timeout is longer. The search_path is that of the functions: see shared/db/role-settings.ts.
alter role identity_auth set statement_timeout = '2s';
alter role identity_auth set lock_timeout = '1500ms';
alter role identity_auth set idle_in_transaction_session_timeout = '10s';
alter role identity_auth set search_path = pg_catalog, pg_temp;

alter role identity_app set statement_timeout = '2s';
alter role identity_app set lock_timeout = '1500ms';
alter role identity_app set idle_in_transaction_session_timeout = '10s';
alter role identity_app set search_path = pg_catalog, pg_temp;

alter role identity_services set statement_timeout = '2s';
alter role identity_services set lock_timeout = '1500ms';
alter role identity_services set idle_in_transaction_session_timeout = '10s';
alter role identity_services set search_path = pg_catalog, pg_temp;

alter role identity_mailer set statement_timeout = '30s';
alter role identity_mailer set lock_timeout = '2s';
alter role identity_mailer set idle_in_transaction_session_timeout = '60s';
alter role identity_mailer set search_path = pg_catalog, pg_temp;

alter role identity_worker set statement_timeout = '30s';
alter role identity_worker set lock_timeout = '2s';
alter role identity_worker set idle_in_transaction_session_timeout = '60s';
alter role identity_worker set search_path = pg_catalog, pg_temp;

alter role identity_publisher set statement_timeout = '30s';
alter role identity_publisher set lock_timeout = '2s';
alter role identity_publisher set idle_in_transaction_session_timeout = '60s';
alter role identity_publisher set search_path = pg_catalog, pg_temp;

alter role identity_opener set statement_timeout = '2s';
alter role identity_opener set lock_timeout = '1500ms';
alter role identity_opener set idle_in_transaction_session_timeout = '10s';
alter role identity_opener set search_path = pg_catalog, pg_temp;

alter role identity_operator set statement_timeout = '30s';
alter role identity_operator set lock_timeout = '2s';
alter role identity_operator set idle_in_transaction_session_timeout = '60s';
alter role identity_operator set search_path = pg_catalog, pg_temp;

alter role identity_vault set statement_timeout = '2s';
alter role identity_vault set lock_timeout = '1500ms';
alter role identity_vault set idle_in_transaction_session_timeout = '10s';
alter role identity_vault set search_path = pg_catalog, pg_temp;

-- A temporary type or table is found before others of its name, also by the next caller of the connection. So no role of the
-- service may create one.
do $$
begin
  execute format('revoke temporary on database %I from public', current_database());
end
$$;

-- Large objects are outside every guard of a table: one role writes what another reads. Only a superuser may revoke the
-- functions: those of Aurora belong to rdsadmin.
do $$
declare
  v_functions text;
  v_mine boolean;
begin
  select string_agg(p.oid::regprocedure::text, ', '), bool_and(pg_has_role(p.proowner, 'usage')) into v_functions, v_mine
    from pg_proc p
   where p.pronamespace = 'pg_catalog'::regnamespace and (p.proname ~ '^(be_)?lo_' or p.proname in ('loread', 'lowrite'));
  if v_mine then
    execute format('revoke execute on function %s from public', v_functions);
  else
    raise warning 'large objects stay open to every role: % may not revoke their functions', current_user;
  end if;
end
$$;

create schema app authorization identity_owner;
-- For app.mark_revocation alone.
create schema revocation authorization identity_owner;
set local role identity_owner;
grant usage on schema app to identity_auth, identity_app, identity_services, identity_mailer, identity_worker,
  identity_publisher, identity_opener, identity_operator, identity_vault, identity_resolver, identity_gate, identity_ender, tenant_bound,
  tenant_table_owner;

-- Nobody may call a function of the owner until app.give says who. In a schema alone, Postgres would keep the built-in grant to PUBLIC.
alter default privileges revoke execute on functions from public;

-- Gives functions the owner and the callers that their comments name. The comment is the one record of a function:
--   owner: ROLE; proof: WHAT IT CHECKS; callers: ROLE, ROLE; definer: REASON; qualified: REASON; long: REASON
-- in this order. Without `owner` it is identity_owner. `callers` are the roles with EXECUTE, or none. Only a SECURITY DEFINER function
-- has `definer`, and it has `proof`. See migrations/README.md. Raises 22023 for a comment of another form.
create function app.give(variadic p_functions regproc[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v record;
begin
  for v in
    select p.oid::regprocedure as name, p.prosecdef as definer, coalesce(parts[1], 'identity_owner') as owner, parts[2] as proof,
           parts[3] as callers, parts[4] as reason
      from unnest(p_functions) as given (oid)
      join pg_proc p on p.oid = given.oid
      left join regexp_match(obj_description(p.oid, 'pg_proc'),
        '^(?:owner: (\w+); )?(?:proof: ([a-z, ]+); )?callers: (\w+(?:, \w+)*)(?:; definer: ([^;]+))?(?:; qualified: [^;]+)?(?:; long: [^;]+)?$'
      ) as parts on true
  loop
    if v.callers is null or v.definer <> (v.reason is not null) or v.definer and v.proof is null then
      raise exception 'the comment on % is no record of a function', v.name using errcode = '22023';
    end if;
    if v.owner <> 'identity_owner' then
      execute format('grant create on schema app to %I', v.owner);
      execute format('alter function %s owner to %I', v.name, v.owner);
      execute format('revoke create on schema app from %I', v.owner);
    end if;
    if v.callers <> 'none' then
      execute format('set local role %I', v.owner);
      execute format('grant execute on function %s to %s', v.name, v.callers);
      set local role identity_owner;
    end if;
  end loop;
end
$$;
comment on function app.give is 'callers: none';

-- Ends the caller's use of a pooled connection (shared/db/connect.ts). Resets every setting of the session and its role. Ends the connection
-- when a statement left something that would run for, or read from, the next caller: an open transaction, a statement of SQL
-- PREPARE, which may have the name of one of the driver's, or a cursor WITH HOLD. An exception alone would not do, because
-- statements of the next caller may already be on their way.
create function app.clean() returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  reset all;
  -- `reset all` leaves the role. A login of another service may become tenant_bound, unless its grant says otherwise.
  reset role;
  perform pg_catalog.pg_advisory_unlock_all();
  -- A transaction that this message began has the time of this message.
  if pg_catalog.now() operator(pg_catalog.<>) pg_catalog.statement_timestamp()
     or exists (select from pg_catalog.pg_prepared_statement() p where p.from_sql)
     or exists (select from pg_catalog.pg_cursor() c where c.is_holdable) then
    raise warning 'a statement left the connection unclean' using errcode = 'TN500';
    perform pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid());
  end if;
end
$$;
comment on function app.clean is
  'callers: identity_app, identity_auth, identity_services, identity_mailer, identity_worker, identity_publisher, '
  'identity_opener, identity_operator, identity_vault, tenant_bound';

select app.give('app.give', 'app.clean');
