-- The database roles of the service, their settings, and the schema `app`.
--
--   identity_owner     owns every object; is no superuser, so FORCE ROW LEVEL SECURITY binds it too
--   identity_app       serves the routes; owns nothing and is a member of no role
--   identity_worker    runs the jobs
--   identity_operator  runs the operators' commands, which no route reaches
--   identity_vault     creates and reads data keys, decrypts and re-encrypts vendor secrets
--   identity_resolver  owns the SECURITY DEFINER functions that act before a tenant is known, or across tenants
--
-- This file runs as the login that migrates. Every later file begins with `set local role identity_owner`, so that no
-- login owns an object.
do $$
begin
  if not exists (select from pg_roles where rolname = 'identity_owner') then
    create role identity_owner nologin noinherit;
  end if;
  if not exists (select from pg_roles where rolname = 'identity_app') then
    create role identity_app login noinherit nocreatedb nocreaterole;
  end if;
  if not exists (select from pg_roles where rolname = 'identity_worker') then
    create role identity_worker login noinherit nocreatedb nocreaterole;
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
end
$$;

-- The creator of a role has the ADMIN option on it. Since PostgreSQL 16 it also needs the SET option to SET ROLE to it.
do $$
begin
  execute format('grant identity_owner to %I with inherit false, set true', current_user);
end
$$;
grant identity_resolver to identity_owner with inherit false, set true;

-- Timeouts are settings of the roles, because SET pins a connection of RDS Proxy. A function waits at most 2.5 s for a
-- statement of identity_app (shared/db/connect.ts).
alter role identity_app set statement_timeout = '2s';
alter role identity_app set lock_timeout = '1500ms';
alter role identity_app set idle_in_transaction_session_timeout = '10s';
alter role identity_app set search_path = app, pg_catalog;

alter role identity_worker set statement_timeout = '30s';
alter role identity_worker set lock_timeout = '5s';
alter role identity_worker set idle_in_transaction_session_timeout = '60s';
alter role identity_worker set search_path = app, pg_catalog;

alter role identity_operator set statement_timeout = '30s';
alter role identity_operator set lock_timeout = '10s';
alter role identity_operator set idle_in_transaction_session_timeout = '60s';
alter role identity_operator set search_path = app, pg_catalog;

alter role identity_vault set statement_timeout = '2s';
alter role identity_vault set lock_timeout = '1500ms';
alter role identity_vault set idle_in_transaction_session_timeout = '10s';
alter role identity_vault set search_path = app, pg_catalog;

create schema app authorization identity_owner;
set local role identity_owner;
grant usage on schema app to identity_app, identity_worker, identity_operator, identity_vault, identity_resolver;
