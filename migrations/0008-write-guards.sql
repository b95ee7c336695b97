-- The first statement of every write: it locks the request's session and membership, and checks them and the permission
-- again. No write commits after the service has confirmed a revocation, a change of role or the loss of a permission. It has more than 300 lines,
-- because people and API keys write under the same locks.
--
-- Lock order, for every transaction: tenant row, user (advisory), user in a tenant (advisory), membership row, session row, role
-- (advisory), writes without a second factor (advisory); of an API key: tenant row, keys of the tenant (advisory), key (advisory), key row.
-- A transaction that takes these locks in another order can deadlock.
--
-- Row locks alone are not enough. While a change waits for a row, later FOR SHARE locks still succeed. So a user who never
-- stops writing could postpone their own revocation. Advisory locks queue: writes that begin after app.lock_user wait for it.
--
-- A revocation waits for no transaction for long. It marks its own transaction. When it has waited for a lock, its process ends the
-- connections that block it, from a second connection: see app.end_blockers and shared/db/without-veto.ts.
set local role identity_owner;

-- The mark of a revocation: its transaction locks this table in ROW SHARE mode. No login has USAGE on the schema, so no statement
-- of a login locks the table, not even a PREPARE, which takes locks before Postgres checks any privilege on a table.
create table revocation.under_way ();
comment on table revocation.under_way is '';
grant usage on schema revocation to identity_ender;
-- Postgres requires INSERT, or more, for LOCK TABLE … IN ROW SHARE MODE.
grant insert on revocation.under_way to identity_ender;

-- Marks the transaction as a revocation until it ends. It never waits.
create function app.mark_revocation() returns void
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  lock table revocation.under_way in row share mode;
end
$$;
comment on function app.mark_revocation is
  'owner: identity_ender; proof: none; callers: identity_operator, identity_resolver, identity_gate; '
  'definer: no other role may lock the table of marks';

-- Ends the connections that block a revocation of the calling login which has waited for a lock for 0.4 s. Returns them.
-- It takes no argument: it finds the marked transactions and what blocks them itself. A revocation waits for rows and tables of this
-- service, and for advisory locks of one key. So a transaction that has touched a table of another service, or waits for any other lock,
-- is none, and its mark does not help it to end others.
-- A revocation that waits is not ended, but what blocks it is. One that does not wait may have got its lock just now, as in a long queue: it is
-- ended when another waits for 0.8 s and the same transaction still blocks it 0.2 s later. It never ends a connection of the owner.
create function app.end_blockers() returns table (pid integer, login name)
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
declare
  v record;
  v_seen text[] := '{}';
begin
  for v_look in 1..2 loop
    for v in
      with recursive marked as (
        select m.pid, m.virtualtransaction from pg_locks m
         where m.granted and m.locktype = 'relation' and m.mode = 'RowShareLock' and m.relation = 'revocation.under_way'::regclass
           and m.database = (select d.oid from pg_database d where d.datname = current_database())
      ), waiting as (
        select w.pid, w.waitstart from pg_locks w join marked m on m.pid = w.pid
         where not w.granted and w.locktype in ('relation', 'tuple', 'transactionid', 'advisory')
           and not (w.locktype = 'advisory' and w.objsubid = 2)
           and not exists (
             select from pg_locks t join pg_class c on c.oid = t.relation
              where t.pid = w.pid and c.relowner <> 'identity_owner'::regrole
                and (not t.granted or c.relnamespace not in ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace)))
      ), stuck as (
        select w.pid, w.waitstart from waiting w join pg_stat_activity a on a.pid = w.pid and a.usename = session_user
         where w.waitstart < clock_timestamp() - interval '400 milliseconds'
        union
        select w.pid, w.waitstart from stuck s, unnest(pg_blocking_pids(s.pid)) as b (pid), waiting w where w.pid = b.pid
      )
      select a.pid, a.usename as login, min(s.pid) as revocation, m.virtualtransaction as revokes
        from stuck s, unnest(pg_blocking_pids(s.pid)) as b (pid), pg_stat_activity a left join marked m on m.pid = a.pid
       where a.pid = b.pid and b.pid not in (select s.pid from stuck s)
         and (s.waitstart < clock_timestamp() - interval '800 milliseconds' or m.pid is null)
         and not pg_has_role(a.usesysid, 'identity_owner', 'member')
       group by a.pid, a.usename, m.virtualtransaction
    loop
      if v.revokes is not null and v.revokes <> all (v_seen) then
        v_seen := v_seen || v.revokes;
      elsif pg_terminate_backend(v.pid) then
        raise log 'ended connection % of %, which blocked the revocation of connection %', v.pid, v.login, v.revocation;
        pid := v.pid;
        login := v.login;
        return next;
      end if;
    end loop;
    exit when v_seen = '{}';
    perform pg_sleep(0.2) where v_look = 1;
  end loop;
end
$$;
comment on function app.end_blockers is
  'owner: identity_ender; proof: none; callers: identity_app, identity_auth, identity_operator; '
  'definer: ends connections of other roles';

-- For an operator: ends the connections of a login, or only that of one process, and returns the processes. A login of this or another
-- service is one that may call app.clean, as each pooled connection does. Raises 22023 for any other: the owner, who migrates, a superuser, or
-- a name that does not exist.
create function app.end_connections(p_login text, p_pid integer, p_reason text) returns table (pid integer)
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
declare
  v_pid integer;
begin
  if not exists (
    select from pg_roles r
     where r.rolname = p_login and r.rolcanlogin and has_function_privilege(r.oid, 'app.clean()', 'execute')
       and not pg_has_role(r.oid, 'identity_owner', 'member')) then
    raise exception 'no login of a service' using errcode = '22023';
  end if;
  for v_pid in
    select a.pid from pg_stat_activity a
     where a.usename = p_login and a.datname = current_database() and a.pid <> pg_backend_pid() and a.pid = coalesce(p_pid, a.pid)
  loop
    if pg_terminate_backend(v_pid) then
      raise log 'ended connection % of %, for an operator: %', v_pid, p_login, left(p_reason, 200);
      pid := v_pid;
      return next;
    end if;
  end loop;
end
$$;
comment on function app.end_connections is
  'owner: identity_ender; proof: none; callers: identity_operator; definer: ends connections of other roles';

-- Blocks later writes of a user until the transaction ends, and waits for those in progress. Call it before ending a
-- user's sessions or disabling the user. Marks the transaction as a revocation.
create function app.lock_user(p_user uuid) returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform app.mark_revocation();
  perform pg_advisory_xact_lock(hashtextextended(p_user::text, 0));
end
$$;
comment on function app.lock_user is 'callers: identity_operator, identity_resolver, identity_gate';

-- Blocks and waits like app.lock_user, but only for the user's writes in the transaction's tenant.
create function app.lock_member(p_user uuid) returns void
  language sql volatile
  return pg_advisory_xact_lock(hashtextextended(app.current_tenant()::text || p_user::text, 0));
comment on function app.lock_member is 'callers: identity_app';

-- Returns the key of the advisory lock that the writes of sessions without a second factor share in a tenant. Who makes the tenant ask for one
-- waits for it (app.change_second_factor_policy).
create function app.lock_of_one_factor(p_tenant uuid) returns bigint
  language sql immutable
  return hashtextextended('one factor ' || p_tenant, 0);
comment on function app.lock_of_one_factor is 'callers: identity_gate';

-- Raises TN428 when a session has not stepped up in the last p_seconds. Null requires no step-up.
create function app.check_step_up(p_stepped_up_at timestamptz, p_seconds integer) returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  if p_seconds is not null and (p_stepped_up_at > clock_timestamp() - make_interval(secs => p_seconds)) is not true then
    raise exception 'the session needs a step-up' using errcode = 'TN428';
  end if;
end
$$;
comment on function app.check_step_up is 'callers: identity_gate';

-- Sets the tenant and the actor of a ticket for a write. Raises TN401 when the session or its membership is no longer live in the tenant, also
-- because the tenant asks for a second factor by now. Raises
-- TN403 when the role changed, lacks the permission, or the session has selected another tenant, and then TN428 when it has not stepped up
-- in the last p_step_up_seconds.
--   p_exclusive  also locks the tenant, so that writes that depend on other members' rows take turns. One that manages members
--                may be a revocation, and is marked as one
-- Locks the membership FOR SHARE, so that every change of it waits. Locks the session FOR KEY SHARE: a revocation waits
-- (sessions_revocation_is_a_key_change), and an update of the idle expiry does not. Shares the lock of the role, which who takes a
-- permission from it waits for (app.update_permissions).
-- An API key is locked and checked instead (app.enter_by_key, 0027): it never steps up. The ticket of a job or an operator holds no
-- permission and has nothing to lock.
create function app.enter_to_write(p_ticket bytea, p_permission text, p_exclusive boolean, p_step_up_seconds integer default null)
  returns void
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_ticket record := app.check_ticket(p_ticket, 'session', 'key', 'job', 'operator');
  v_role integer;
  v_bound uuid;
  v_stepped_up_at timestamptz;
  v_second_factor_at timestamptz;
begin
  if v_ticket.tenant_id is null then
    raise exception 'a write needs a ticket with a tenant' using errcode = 'TN401';
  end if;
  if v_ticket.kind in ('job', 'operator') then
    if v_ticket.may_write is not true then
      raise exception 'the ticket is for reading' using errcode = 'TN403';
    end if;
    perform app.set_tenant(v_ticket.tenant_id);
    return;
  elsif v_ticket.kind = 'key' then
    perform app.enter_by_key(v_ticket.tenant_id, v_ticket.key_id, v_ticket.generation, p_permission, p_exclusive, p_step_up_seconds);
    return;
  end if;
  if p_exclusive then
    if p_permission = 'member.manage' then
      perform app.mark_revocation();
    end if;
    perform from app.tenants t where t.id = v_ticket.tenant_id for no key update;
  end if;
  perform pg_advisory_xact_lock_shared(hashtextextended(v_ticket.user_id::text, 0));
  perform pg_advisory_xact_lock_shared(hashtextextended(v_ticket.tenant_id::text || v_ticket.user_id::text, 0));
  select m.role_id into v_role from app.memberships m
   where m.tenant_id = v_ticket.tenant_id and m.user_id = v_ticket.user_id
     and m.accepted_at is not null and m.revoked_at is null for share;
  if found then
    select s.tenant_id, s.stepped_up_at, s.second_factor_at into v_bound, v_stepped_up_at, v_second_factor_at from app.sessions s
      where s.id = v_ticket.session_id and (s.revoked_at is null
        and s.idle_expires_at > now() and s.absolute_expires_at > now()) is not false for key share;
  end if;
  if not found then
    raise exception 'the session is no longer live in this tenant' using errcode = 'TN401';
  end if;
  if v_bound is distinct from v_ticket.tenant_id then
    raise exception 'the session has selected another tenant' using errcode = 'TN403';
  end if;
  perform pg_advisory_xact_lock_shared(app.lock_of_role(v_role));
  perform from app.roles r where r.id = v_role and v_role = v_ticket.role_id and app.holds(r.permissions, p_permission);
  if not found then
    raise exception 'the role no longer holds the permission' using errcode = 'TN403';
  end if;
  -- The request may have been checked before the date of the policy. So may the transaction have begun, and have waited for the lock.
  if v_second_factor_at is null then
    perform pg_advisory_xact_lock_shared(app.lock_of_one_factor(v_ticket.tenant_id));
    perform from app.tenants t join app.roles r on r.id = v_role
      where t.id = v_ticket.tenant_id
        and app.second_factor_from(t.second_factor_managers_from, t.second_factor_everyone_from, r.permissions) <= clock_timestamp();
    if found then
      raise exception 'the tenant asks for a second factor' using errcode = 'TN401';
    end if;
  end if;
  perform app.check_step_up(v_stepped_up_at, p_step_up_seconds);
  perform app.set_tenant(v_ticket.tenant_id, v_ticket.user_id);
end
$$;
comment on function app.enter_to_write is
  'owner: identity_gate; proof: ticket; callers: identity_app, identity_worker, identity_operator, identity_vault; '
  'definer: checks session, membership and role before the tenant is set, and seals the scope';

-- Guards a write that needs a session and no tenant. Raises TN401 when the ticket's session is no longer live, and then TN428 when it has
-- not stepped up in the last p_step_up_seconds. Sets no tenant.
-- Locks the user exclusively. With shared locks, two such writes of one user would deadlock when both end sessions,
-- because app.end_sessions takes the exclusive lock. A write of a session with a tenant also waits for app.lock_member.
create function app.enter_session(p_ticket bytea, p_step_up_seconds integer default null) returns void
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_ticket record := app.check_ticket(p_ticket, 'session');
  v_tenant uuid;
  v_stepped_up_at timestamptz;
begin
  select s.tenant_id into v_tenant from app.sessions s where s.id = v_ticket.session_id;
  perform app.lock_user(v_ticket.user_id);
  if v_tenant is not null then
    perform pg_advisory_xact_lock_shared(hashtextextended(v_tenant::text || v_ticket.user_id::text, 0));
  end if;
  select s.stepped_up_at into v_stepped_up_at from app.sessions s
    where s.id = v_ticket.session_id and (s.revoked_at is null
      and s.idle_expires_at > now() and s.absolute_expires_at > now()) is not false for key share;
  if not found then
    raise exception 'the session is no longer live' using errcode = 'TN401';
  end if;
  perform app.check_step_up(v_stepped_up_at, p_step_up_seconds);
end
$$;
comment on function app.enter_session is
  'owner: identity_gate; proof: ticket; callers: identity_auth, identity_app; '
  'definer: locks a session before a tenant is known';

-- Returns the ticket of an operator. Writes tenant and reason to the server's log, which keeps them when the transaction rolls
-- back.
create function app.operator_ticket(p_tenant uuid, p_reason text) returns bytea
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  if coalesce(p_reason, '') = '' then
    raise exception 'an operator enters a tenant with a reason' using errcode = '22023';
  end if;
  raise log 'operator enters tenant %: %', p_tenant, left(p_reason, 200);
  return app.seal_ticket('operator', p_tenant, p_may_write => true);
end
$$;
comment on function app.operator_ticket is
  'owner: identity_gate; proof: none; callers: identity_operator; definer: seals a ticket';

select app.give(
  'app.mark_revocation', 'app.end_blockers', 'app.end_connections', 'app.lock_user', 'app.lock_member', 'app.lock_of_one_factor', 'app.check_step_up', 'app.enter_to_write', 'app.enter_session', 'app.operator_ticket');
