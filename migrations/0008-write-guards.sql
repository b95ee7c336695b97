-- The first statement of every write: it locks the request's session and membership, and checks them and the permission
-- again. No write commits after the service has confirmed a revocation, a change of role or the loss of a permission.
--
-- Lock order, for every transaction: tenant row, user (advisory), user in a tenant (advisory), membership row, session row.
-- A transaction that takes these locks in another order can deadlock.
--
-- Row locks alone are not enough. While a change waits for a row, later FOR SHARE locks still succeed. So a user who never
-- stops writing could postpone their own revocation. Advisory locks queue: writes that begin after app.lock_user wait for it.
set local role identity_owner;

-- Blocks later writes of a user until the transaction ends, and waits for those in progress. Call it before ending a
-- user's sessions or disabling the user.
create function app.lock_user(p_user uuid) returns void
  language sql volatile
  return pg_advisory_xact_lock(hashtextextended(p_user::text, 0));

-- Blocks and waits like app.lock_user, but only for the user's writes in the transaction's tenant.
create function app.lock_member(p_user uuid) returns void
  language sql volatile
  return pg_advisory_xact_lock(hashtextextended(app.current_tenant()::text || p_user::text, 0));

-- Opens a tenant's scope for a write. Raises TN401 when the session or its membership is no longer live in the tenant, and
-- TN403 when the role changed, lacks the permission, or the session has selected another tenant.
--   p_exclusive  also locks the tenant, so that writes that depend on other members' rows take turns
-- Locks the membership FOR SHARE, so that every change of it waits. Locks the session FOR KEY SHARE: a revocation waits
-- (sessions_revocation_is_a_key_change), and an update of the idle expiry does not.
create function app.enter_tenant(p_tenant uuid, p_session uuid, p_role smallint, p_permission text, p_exclusive boolean)
  returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_user uuid;
  v_role smallint;
  v_bound uuid;
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  if p_exclusive then
    perform from app.tenants t where t.id = p_tenant for no key update;
  end if;
  select s.user_id into v_user from app.sessions s where s.id = p_session;
  perform pg_advisory_xact_lock_shared(hashtextextended(v_user::text, 0));
  perform pg_advisory_xact_lock_shared(hashtextextended(p_tenant::text || v_user::text, 0));
  select m.role_id into v_role from app.memberships m
   where m.tenant_id = p_tenant and m.user_id = v_user
     and m.accepted_at is not null and m.revoked_at is null for share;
  if found then
    select s.tenant_id into v_bound from app.sessions s
      where s.id = p_session and s.revoked_at is null
        and s.idle_expires_at > now() and s.absolute_expires_at > now() for key share;
  end if;
  if not found then
    raise exception 'the session is no longer live in this tenant' using errcode = 'TN401';
  end if;
  if v_bound is distinct from p_tenant then
    raise exception 'the session has selected another tenant' using errcode = 'TN403';
  end if;
  perform from app.role_permissions p where p.role_id = v_role and p.role_id = p_role and p.permission in (p_permission, '*');
  if not found then
    raise exception 'the role no longer holds the permission' using errcode = 'TN403';
  end if;
end
$$;

-- Guards a write that needs a session and no tenant. Raises TN401 when the session is no longer live. Sets no tenant.
-- Locks the user exclusively. With shared locks, two such writes of one user would deadlock when both end sessions,
-- because app.end_sessions takes the exclusive lock. A write of a session with a tenant also waits for app.lock_member.
create function app.enter_session(p_session uuid) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_user uuid;
  v_tenant uuid;
begin
  select s.user_id, s.tenant_id into v_user, v_tenant from app.sessions s where s.id = p_session;
  perform app.lock_user(v_user);
  if v_tenant is not null then
    perform pg_advisory_xact_lock_shared(hashtextextended(v_tenant::text || v_user::text, 0));
  end if;
  perform from app.sessions s
    where s.id = p_session and s.revoked_at is null
      and s.idle_expires_at > now() and s.absolute_expires_at > now() for key share;
  if not found then
    raise exception 'the session is no longer live' using errcode = 'TN401';
  end if;
end
$$;

revoke all on function app.lock_user(uuid), app.lock_member(uuid),
  app.enter_tenant(uuid, uuid, smallint, text, boolean), app.enter_session(uuid) from public;
grant execute on function app.lock_user(uuid), app.lock_member(uuid),
  app.enter_tenant(uuid, uuid, smallint, text, boolean), app.enter_session(uuid) to identity_app;
grant execute on function app.lock_user(uuid) to identity_operator, identity_resolver;
