-- What a person ends themselves is noted where it counts: a session in the log of the shop that it acted for, a new
-- password in the log of each shop that the person works in. In the transaction of the change, so with it or not at all.
set local role identity_owner;

-- Ends sessions of a user: the live one of this id, or every other one (p_others; all of them when p_session is null).
-- Answers how many live ones there were, and notes each that had a tenant. One that had expired is revoked with the
-- others, since a request under way may be moving its expiry on, and is neither counted nor noted.
create function app.end_sessions(
    p_user uuid, p_session uuid, p_others boolean, p_action text, p_request_id text, p_ip_hash bytea)
  returns integer
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_ended integer;
begin
  perform app.lock_user(p_user);
  with ended as (
    update app.sessions s set revoked_at = now()
     where s.user_id = p_user and s.revoked_at is null
       and case when p_others then s.id is distinct from p_session
                else s.id = p_session and s.idle_expires_at > now() and s.absolute_expires_at > now() end
    returning s.id, s.tenant_id, s.idle_expires_at > now() and s.absolute_expires_at > now() as live
  ), noted as (
    insert into app.audit_log (tenant_id, actor_user_id, action, target_type, target_id, request_id, ip_hash)
    select e.tenant_id, p_user, p_action, 'session', e.id, p_request_id, p_ip_hash
      from ended e where e.live and e.tenant_id is not null
  )
  select count(*) into v_ended from ended e where e.live;
  return v_ended;
end
$$;

-- What a person did to their own account, in the log of each shop that they work in.
create function app.record_own_change(p_user uuid, p_action text, p_request_id text, p_ip_hash bytea) returns void
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
  insert into app.audit_log (tenant_id, actor_user_id, action, target_type, target_id, request_id, ip_hash)
  select m.tenant_id, p_user, p_action, 'user', p_user, p_request_id, p_ip_hash
    from app.memberships m where m.user_id = p_user and m.accepted_at is not null and m.revoked_at is null
$$;

grant execute on function app.lock_user(uuid) to identity_resolver;
grant update (revoked_at) on app.sessions to identity_resolver;
grant insert (actor_user_id) on app.audit_log to identity_resolver;
revoke all on function app.end_sessions(uuid, uuid, boolean, text, text, bytea),
  app.record_own_change(uuid, text, text, bytea) from public;
grant execute on function app.end_sessions(uuid, uuid, boolean, text, text, bytea),
  app.record_own_change(uuid, text, text, bytea) to identity_app;
grant create on schema app to identity_resolver;
alter function app.end_sessions(uuid, uuid, boolean, text, text, bytea) owner to identity_resolver;
alter function app.record_own_change(uuid, text, text, bytea) owner to identity_resolver;
revoke create on schema app from identity_resolver;
