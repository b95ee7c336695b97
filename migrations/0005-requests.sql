-- The statements that every request begins with: the session check, the choice of a tenant, the entry into its scope.
set local role identity_owner;

-- Each session that may still be used, with what its holder may do. `live` is defined here and nowhere else: neither
-- revoked nor expired, the user not disabled, and, once a tenant is chosen, that tenant open and the membership
-- accepted and not revoked. Row security applies to the reader: with another tenant set, an active session is not live.
create view app.live_sessions with (security_invoker = true) as
select s.id as session_id, s.idle_expires_at, s.absolute_expires_at,
       u.id as user_id, u.email, u.email_verified_at, u.full_name, u.avatar_url,
       t.id as tenant_id, t.slug, t.legal_name, t.status, t.timezone, t.currency,
       m.id as membership_id,
       r.id as role_id, r.code as role_code, r.label as role_label, r.rank as role_rank,
       to_jsonb(array(select p.permission from app.role_permissions p
                       where p.role_id = r.id order by p.permission collate "C")) as permissions
  from app.sessions s
  join app.users u on u.id = s.user_id and u.disabled_at is null
  left join app.tenants t on t.id = s.tenant_id and t.deleted_at is null and t.status in ('trial', 'active', 'past_due')
  -- Not `=`: row security says that once more, the planner counts it twice, and takes any index that begins with the tenant,
  -- reading all memberships of the shop in place of the one.
  left join app.memberships m on m.tenant_id is not distinct from s.tenant_id and m.user_id = s.user_id
        and m.accepted_at is not null and m.revoked_at is null
  left join app.roles r on r.id = m.role_id
 where s.revoked_at is null and s.idle_expires_at > now() and s.absolute_expires_at > now()
   and (s.tenant_id is null or (t.id is not null and m.id is not null));
grant select on app.live_sessions to identity_app;

-- The session check, in one round trip: the live session of a token key, with its idle expiry moved to p_idle_seconds
-- from now (never past the absolute expiry; not moved while no tenant is chosen), or no row. Call it as a statement of
-- its own: it lets its transaction commit without waiting for the disk, which no other write may.
create function app.authenticate(p_token_key bytea, p_idle_seconds integer) returns setof app.live_sessions
  language plpgsql
  rows 1
  as $$
declare
  v_session uuid;
  v_tenant uuid;
  v_live app.live_sessions;
begin
  perform set_config('synchronous_commit', 'off', true);
  for v_try in 1..2 loop
    if v_try = 1 then
      select s.id, s.tenant_id into v_session, v_tenant from app.sessions s where s.token_key = p_token_key;
    else
      -- Not live for the tenant that was read. Another request may have chosen a tenant in between, so look again, and
      -- hold the session meanwhile.
      select s.id, s.tenant_id into v_session, v_tenant from app.sessions s
       where s.token_key = p_token_key and s.revoked_at is null
         and s.idle_expires_at > now() and s.absolute_expires_at > now() for no key update;
    end if;
    exit when v_session is null;
    perform set_config('app.tenant_id', coalesce(v_tenant::text, ''), true);
    select l.* into v_live from app.live_sessions l where l.session_id = v_session;
    if v_live.session_id is not null then
      update app.sessions s
         set idle_expires_at = case when v_tenant is null then s.idle_expires_at
               else least(now() + make_interval(secs => p_idle_seconds), s.absolute_expires_at) end,
             last_seen_at = now()
       where s.id = v_session and s.revoked_at is null
      returning s.idle_expires_at into v_live.idle_expires_at;
      if found then
        return next v_live;
      end if;
      exit;
    end if;
  end loop;
end
$$;

-- Binds a live session to a tenant in which its user has a live membership, and returns it; no row when there is no
-- such membership or the tenant is not open. Holds the tenant and the membership, so that neither is suspended or
-- revoked before this commits. Raises TN401 when the session died meanwhile. Locks in the house's order: tenant,
-- membership, session.
create function app.select_tenant(p_session uuid, p_tenant uuid, p_idle_seconds integer) returns setof app.live_sessions
  language plpgsql
  rows 1
  as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  perform from app.tenants t
    where t.id = p_tenant and t.deleted_at is null and t.status in ('trial', 'active', 'past_due') for share;
  if not found then
    return;
  end if;
  perform from app.memberships m
    where m.tenant_id = p_tenant and m.user_id = (select s.user_id from app.sessions s where s.id = p_session)
      and m.accepted_at is not null and m.revoked_at is null for share;
  if not found then
    return;
  end if;
  update app.sessions s
     set tenant_id = p_tenant, last_seen_at = now(),
         idle_expires_at = least(now() + make_interval(secs => p_idle_seconds), s.absolute_expires_at)
   where s.id = p_session and s.revoked_at is null and s.idle_expires_at > now() and s.absolute_expires_at > now();
  if not found then
    raise exception 'the session is no longer live' using errcode = 'TN401';
  end if;
  return query select l.* from app.live_sessions l where l.session_id = p_session;
end
$$;

-- Keeps the user's later writes out until the transaction ends, and waits for those under way: the first thing that
-- whatever takes something away from a user does. In the order of locks it comes after the tenant and before the rows.
create function app.lock_user(p_user uuid) returns void
  language sql volatile
  as $$ select pg_advisory_xact_lock(hashtextextended(p_user::text, 0)) $$;

-- The same for what is taken from a user in the present tenant alone.
create function app.lock_member(p_user uuid) returns void
  language sql volatile
  as $$ select pg_advisory_xact_lock(hashtextextended(app.current_tenant()::text || p_user::text, 0)) $$;

-- Opens a tenant's scope for a write, as the first statement of its transaction: what the session check found is
-- checked again under locks that last until the write commits, so that a revocation or a change of role that was
-- answered is never followed by a write that it forbids. Raises TN401 when the session or its membership is no longer
-- live in that tenant, TN403 when the member's role is another by now or no longer holds the permission, or the session
-- has chosen another tenant.
--   p_exclusive  locks the tenant first, for writes that decide by other members' rows: they take turns.
--   The membership is locked FOR SHARE: any change of it waits. The session is locked FOR KEY SHARE: revoking it waits
--   (sessions_revocation_is_a_key_change), while the slide of the session's next request does not. Row locks let later
--   sharers pass a waiting change, so one who never stops writing would put off the revocation of his own session; the
--   shared hold on the user does not: writes that come after app.lock_user wait behind it.
create function app.enter_tenant(p_tenant uuid, p_session uuid, p_role smallint, p_permission text, p_exclusive boolean)
  returns void
  language plpgsql
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
    raise exception 'the session acts for another tenant by now' using errcode = 'TN403';
  end if;
  perform from app.role_permissions p where p.role_id = v_role and p.role_id = p_role and p.permission in (p_permission, '*');
  if not found then
    raise exception 'the role no longer holds the permission' using errcode = 'TN403';
  end if;
end
$$;

revoke all on function app.authenticate(bytea, integer), app.select_tenant(uuid, uuid, integer),
  app.enter_tenant(uuid, uuid, smallint, text, boolean), app.lock_user(uuid), app.lock_member(uuid) from public;
grant execute on function app.authenticate(bytea, integer), app.select_tenant(uuid, uuid, integer),
  app.enter_tenant(uuid, uuid, smallint, text, boolean), app.lock_user(uuid), app.lock_member(uuid) to identity_app;
