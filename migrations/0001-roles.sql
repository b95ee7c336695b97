-- The database roles, and the schema that they share. This file alone runs as the login that migrates; every
-- later file begins with `set local role identity_owner`, so that nothing is owned by a login.
--
--   identity_owner     owns every object; not a superuser, so FORCE ROW LEVEL SECURITY binds it too
--   identity_app       the Lambdas; owns nothing, is a member of nothing, and reads what its grants and policies allow
--   identity_worker    the jobs, under policies of their own
--   identity_operator  the operators' commands, which no route reaches
--   identity_resolver  owns the few SECURITY DEFINER functions that read before a tenant is known (0006)

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
  if not exists (select from pg_roles where rolname = 'identity_resolver') then
    create role identity_resolver nologin noinherit;
  end if;
end
$$;

-- A role that creates another holds ADMIN on it, but may act as it only when told so (PostgreSQL 16 and later).
do $$
begin
  execute format('grant identity_owner to %I with inherit false, set true', current_user);
end
$$;
grant identity_resolver to identity_owner with inherit false, set true;

-- The timeouts are the role's, since a SET on the connection would pin it behind RDS Proxy. A statement that takes
-- longer than a client waits (2.5 s, shared/db/connect.ts) is of no use to anyone.
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

create schema app authorization identity_owner;
