-- Sessions: signing in, the session check, selecting a tenant, ending sessions.
-- The table has no tenant guard: the session check finds a session by its token hash before it knows the tenant.
-- It has more than 300 lines, because sessions are one noun, and a noun is one file.
set local role identity_owner;

create table app.sessions (
  id                  uuid primary key default gen_random_uuid(),
  token_key           app.hash not null unique,
  user_id             uuid not null references app.users,
  tenant_id           uuid references app.tenants,
  idle_expires_at     timestamptz not null,
  absolute_expires_at timestamptz not null,
  csrf_secret         app.hash not null,
  ip_hash             app.hash,
  user_agent          app.user_agent,
  created_at          timestamptz not null default now(),
  last_seen_at        timestamptz not null default now(),
  revoked_at          timestamptz,
  -- When a second factor was proven in it, and when its user last proved their presence. A sign-in is such a proof.
  second_factor_at    timestamptz,
  stepped_up_at       timestamptz,
  -- Makes revoked_at a key column. An update of it locks the row FOR UPDATE, and so waits for FOR KEY SHARE. An update of
  -- the idle expiry does not wait. See app.enter_to_write.
  constraint sessions_revocation_is_a_key_change unique (id, revoked_at)
) with (fillfactor = 70);
-- Every request updates idle_expires_at and last_seen_at. No index contains them, so these are heap-only updates.
-- A statement that finds a session by its token or id puts the conditions on its state into `(…) is not false`, which no index matches. Else a plan
-- that was made while the table was small, or before it had statistics, could read all live sessions by one of these indexes.
create index sessions_live_by_user on app.sessions (user_id) where revoked_at is null;
create index sessions_live_by_tenant on app.sessions (tenant_id) where revoked_at is null and tenant_id is not null;
-- The job `maintain` deletes live and ended sessions by this index.
create index sessions_by_expiry on app.sessions (absolute_expires_at);

-- No statistics: see app.tenants.
alter table app.sessions
  alter column token_key set statistics 0,
  alter column csrf_secret set statistics 0,
  alter column ip_hash set statistics 0,
  alter column user_agent set statistics 0;

-- Whoever changes it: an ended session never lives again.
create trigger sessions_stay_ended before update of revoked_at on app.sessions
  for each row when (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
  execute function app.refuse_change('an ended session stays ended');

alter table app.sessions enable row level security, force row level security;
create policy app_tenant on app.sessions to identity_app using (tenant_id = (select app.current_tenant()))
  with check (tenant_id = (select app.current_tenant()) and (select current_setting('transaction_read_only')) = 'off');
create policy operator_all on app.sessions to identity_operator using (true);
comment on policy operator_all on app.sessions is 'ends the sessions of a tenant and of a user';
create policy resolver_all on app.sessions to identity_resolver using (true);
comment on policy resolver_all on app.sessions is 'lists and ends the sessions of a user';
create policy gate on app.sessions to identity_gate using (true);
comment on policy gate on app.sessions is 'finds a session by its token hash';

-- Removing a member ends their sessions in the tenant.
grant select (user_id, tenant_id, revoked_at), update (revoked_at) on app.sessions to identity_app;
grant select (id, user_id, tenant_id, revoked_at), update (revoked_at) on app.sessions to identity_operator;
grant select (id, user_id, tenant_id, user_agent, created_at, last_seen_at, idle_expires_at, absolute_expires_at, revoked_at,
              second_factor_at),
  update (revoked_at), delete on app.sessions to identity_resolver;
grant select (id, token_key, user_id, tenant_id, csrf_secret, created_at, last_seen_at, idle_expires_at, absolute_expires_at, revoked_at,
              second_factor_at, stepped_up_at),
  insert (token_key, user_id, csrf_secret, ip_hash, user_agent, idle_expires_at, absolute_expires_at, second_factor_at, stepped_up_at),
  update (token_key, tenant_id, idle_expires_at, last_seen_at, revoked_at, second_factor_at, stepped_up_at) on app.sessions to identity_gate;

-- The live sessions with user, tenant, role and permissions. A session is live if it is not revoked or expired and its user is not
-- disabled. If it has a tenant, the tenant must be open, and the membership accepted and not revoked; and where the tenant asks
-- the role for a second factor, the session must have proven one. Row security applies to the
-- reader: the view shows a session of a tenant only while that tenant is set. It is also the row that functions return: `ticket` and `methods`
-- are null here. app.authenticate fills in the ticket, and app.sign_in the methods of an open sign-in. No function returns the token hash.
create view app.live_sessions with (security_invoker = true) as
select s.id as session_id, s.idle_expires_at, s.absolute_expires_at, s.created_at as signed_in_at, s.last_seen_at,
       s.second_factor_at, s.stepped_up_at,
       u.id as user_id, u.email, u.email_verified_at, u.full_name, u.avatar_url, u.language,
       t.id as tenant_id, t.slug, t.legal_name, t.status, t.timezone, t.currency,
       m.id as membership_id,
       r.id as role_id, r.code as role_code, r.label as role_label, r.rank as role_rank,
       r.permissions, app.second_factor_from(t.second_factor_managers_from, t.second_factor_everyone_from, r.permissions) as second_factor_from,
       s.csrf_secret, s.token_key, null::bytea as ticket, null::jsonb as methods
  from app.sessions s
  join app.users u on u.id = s.user_id and u.disabled_at is null
  left join app.tenants t on t.id = s.tenant_id and t.deleted_at is null and app.is_open(t.status)
  left join app.memberships m on m.tenant_id = s.tenant_id and m.user_id = s.user_id
        and m.accepted_at is not null and m.revoked_at is null
  left join app.roles r on r.id = m.role_id
 where (s.revoked_at is null and s.idle_expires_at > now() and s.absolute_expires_at > now()) is not false
   and (s.tenant_id is null
        or (t.id is not null and m.id is not null
            and (s.second_factor_at is not null
                 or not app.asks_second_factor(t.second_factor_managers_from, t.second_factor_everyone_from, r.permissions))));
grant select on app.live_sessions to identity_gate;

-- Returns the live session of an id without its token hash, or no row.
create function app.live_session(p_session uuid) returns setof app.live_sessions
  language plpgsql stable rows 1
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set plan_cache_mode = force_generic_plan
  as $$
declare
  v_live app.live_sessions;
begin
  select l.* into v_live from app.live_sessions l where l.session_id = p_session;
  if found then
    v_live.token_key := null;
    return next v_live;
  end if;
end
$$;
comment on function app.live_session is 'callers: identity_gate';

-- The functions below run as identity_gate, which sees every tenant and seals what it found.

-- Returns the limit on wrong digests for an address, whoever sends them: 1000 in 15 minutes. It bounds what a caller can guess that counts by
-- no limit of its own. Its key is made of a secret of the database, so that no caller can delete the count.
create function app.guesses_of(p_email text) returns app.limit
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  as $$
begin
  return (select row(sha256(s.salt_key || sha256(convert_to('guesses ' || lower(p_email collate "C"), 'UTF8'))), 1000, 900)::app.limit
            from app.seal s);
end
$$;
comment on function app.guesses_of is 'callers: identity_gate';

-- Creates a session of a user without a tenant, and returns its id. It alone creates sessions. Raises TN500 for a user with a second factor
-- unless the caller says that one was proven. With it come the effects of a sign-in: the live session of the token that the client sent ends,
-- whoever its user is: one of two token hashes, because the pepper may be rotating. The longest unused sessions end, so that p_most live ones are
-- left. The network and the device become known ones of the user, and the failures of p_limit_key are forgotten. When neither was one of the
-- user's in the last 30 days, it adds a mail that says so: at most one in an hour, and none in the first day of an account. A proof of the
-- second factor cancels a reset of it (0034).
-- Requires a lock on the user's row, and before it one on the user of the sent session (app.lock_user).
create function app.create_session(
    p_user uuid, p_token_key bytea, p_csrf_secret bytea, p_network_key bytea, p_device_key bytea, p_device jsonb, p_user_agent text,
    p_pending_seconds integer, p_absolute_seconds integer, p_most integer, p_source app.source, p_sent_key bytea, p_sent_previous bytea, p_limit_key bytea,
    p_proven boolean)
  returns uuid
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_session uuid;
  v_created_at timestamptz;
begin
  if p_proven is not true and exists (select from app.factors f where f.user_id = p_user) then
    raise exception 'a session without the second factor of its user' using errcode = 'TN500';
  end if;
  update app.users u set last_login_at = now() where u.id = p_user returning u.created_at into v_created_at;
  perform app.end_sessions_of(s.user_id, s.id, null, 'session.revoked', p_source)
     from app.sessions s where s.token_key in (p_sent_key, p_sent_previous);
  perform app.end_unused_sessions(p_user, p_most - 1, p_source);
  if p_device_key is not null and v_created_at < now() - interval '1 day'
     and not app.is_known_network(p_network_key) and not app.is_known_network(p_device_key) then
    perform app.enqueue('mail', jsonb_build_object('template', 'new-sign-in', 'user_id', p_user, 'device', p_device),
                        'new-sign-in ' || p_user || ' ' || date_trunc('hour', now()));
  end if;
  insert into app.known_networks as n (key) select k from unnest(array[p_network_key, p_device_key]) k where k is not null
  on conflict (key) do update set seen_at = now();
  insert into app.sessions as s
    (token_key, user_id, csrf_secret, ip_hash, user_agent, idle_expires_at, absolute_expires_at, second_factor_at, stepped_up_at)
  values (p_token_key, p_user, p_csrf_secret, p_source.ip_hash, p_user_agent,
          now() + make_interval(secs => least(p_pending_seconds, p_absolute_seconds)),
          now() + make_interval(secs => p_absolute_seconds), case when p_proven then now() end, now())
  returning s.id into v_session;
  delete from app.rate_limits r where r.key = p_limit_key;
  if p_proven then
    perform app.end_reset(p_user, p_user, null, p_source);
  end if;
  return v_session;
end
$$;
comment on function app.create_session is 'callers: identity_gate';

-- Signs a user in when the digest is the one of their password. Creates a session without a tenant, and returns both. A user with a second
-- factor gets an open sign-in under that token hash (0029), with no effect of a sign-in: the row has the user, the time when it expires as
-- `absolute_expires_at`, and the `methods` that finish it. Otherwise
-- returns no row, and records a failed sign-in with the same work for a user of many tenants and for no user.
-- A failure counts against p_failures, and a success deletes the failures. When attempts at the same time have reached that limit since it
-- was looked at, or guesses the one of the address, it returns a row of nulls: the answer says nothing of the digest. p_taken is what
-- app.count_attempts took, which every outcome but a failure gives back. An open sign-in gives nothing back before it is finished.
create function app.sign_in(
    p_email text, p_digest bytea, p_token_key bytea, p_csrf_secret bytea, p_network_key bytea,
    p_user_agent text, p_pending_seconds integer, p_absolute_seconds integer, p_most integer,
    p_source app.source, p_sent_key bytea default null, p_sent_previous bytea default null,
    p_failures app.limit default null, p_part_of bytea default null, p_taken jsonb default '[]', p_taken_in_cache text[] default '{}',
    p_device_key bytea default null, p_device jsonb default null)
  returns setof app.live_sessions
  language plpgsql security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_user app.users;
  v_none app.live_sessions;
  v_session uuid;
  v_guesses app.limit := app.guesses_of(p_email);
  v_look record := app.look_at_limit(v_guesses, clock_timestamp());
begin
  -- A failure, until the password is known to be right: so attempts at the same time take turns at the last place.
  if v_look.used >= v_look.room or p_failures is not null and not (app.count_attempt(p_failures, p_part_of)).allowed then
    perform app.give_back_attempts(p_taken);
    return next v_none;
    return;
  end if;
  select * into v_user from app.users u where u.email = p_email;
  if app.is_digest_of(p_digest, v_user.password_hash) and v_user.disabled_at is null then
    -- The user of a session is locked before any row: see 0008.
    perform app.lock_user(s.user_id) from app.sessions s where s.token_key in (p_sent_key, p_sent_previous);
    -- The lock of the row lets the sign-ins of one user take turns, and whoever adds a factor. Another request may have changed the user before.
    perform from app.users u
      where u.id = v_user.id and u.disabled_at is null and u.password_hash = v_user.password_hash for no key update;
    if found then
      v_none.methods := to_jsonb(app.methods_of(v_user.id));
      if v_none.methods is not null then
        v_none.user_id := v_user.id;
        v_none.absolute_expires_at := app.open_sign_in(v_user.id, p_token_key, p_failures.key, p_taken, p_taken_in_cache);
        return next v_none;
        return;
      end if;
      v_session := app.create_session(
        v_user.id, p_token_key, p_csrf_secret, p_network_key, p_device_key, p_device, p_user_agent, p_pending_seconds, p_absolute_seconds,
        p_most, p_source, p_sent_key, p_sent_previous, p_failures.key, p_proven => false);
      perform app.give_back_attempts(p_taken);
      return query select * from app.live_session(v_session);
      return;
    end if;
  end if;
  -- Does not wait for the disk.
  perform set_config('synchronous_commit', 'off', true);
  perform app.count_attempt(v_guesses);
  insert into app.failed_sign_ins (user_id, request_id, client_request_id, ip_hash)
  values (v_user.id, p_source.request_id, p_source.client_request_id, p_source.ip_hash);
end
$$;
comment on function app.sign_in is
  'owner: identity_gate; proof: password digest; callers: identity_auth; '
  'definer: compares a digest with a password hash, and creates a session';

-- The session check, in one round trip. Returns the live session of a token hash with a ticket, or no row. If the session was
-- last seen p_step_seconds ago or earlier, it is seen now, and with a tenant its idle expiry moves to p_idle_seconds from now,
-- never past the absolute expiry. Otherwise nothing is written. It waits for no lock on the session: another transaction that has one either
-- moves the expiry too, or ends the session and has not been answered.
-- Its two settings for the planner fix the plan: one lookup by index in each table, planned once for a connection. Otherwise each of
-- a connection's first five checks would be planned, and small tables would be read whole.
-- Call it in a transaction of its own, because such a transaction commits without waiting for the disk.
create function app.authenticate(p_token_key bytea, p_idle_seconds integer, p_step_seconds integer default 0)
  returns setof app.live_sessions
  language plpgsql security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  set enable_seqscan = off
  set plan_cache_mode = force_generic_plan
  as $$
declare
  v_live app.live_sessions;
begin
  select l.* into v_live from app.live_sessions l where l.token_key = p_token_key;
  if not found then
    return;
  end if;
  if v_live.last_seen_at <= now() - make_interval(secs => p_step_seconds) then
    perform set_config('synchronous_commit', 'off', true);
    update app.sessions s
       set idle_expires_at = case when v_live.tenant_id is null then s.idle_expires_at
             else least(now() + make_interval(secs => p_idle_seconds), s.absolute_expires_at) end,
           last_seen_at = now()
     where s.id = (select f.id from app.sessions f
                    where f.id = v_live.session_id and (f.revoked_at is null) is not false for no key update skip locked)
    returning s.idle_expires_at into v_live.idle_expires_at;
    if not found then
      select l.* into v_live from app.live_sessions l where l.token_key = p_token_key;
      if not found then
        return;
      end if;
    end if;
  end if;
  v_live.ticket := app.seal_ticket('session', v_live.tenant_id, v_live.user_id, v_live.session_id, v_live.role_id, 'password',
                                   v_live.signed_in_at);
  v_live.token_key := null;
  return next v_live;
end
$$;
comment on function app.authenticate is
  'owner: identity_gate; proof: token hash; callers: identity_auth, identity_app; '
  'definer: reads sessions of all tenants before one is known, and seals a ticket';

-- Selects a tenant for the session of a ticket and returns the session. Audits it, and writes its time into the membership, unless the
-- session has selected that tenant already. Returns no row when the user has no live membership there or the tenant is not open. Raises TN401 when the session
-- is no longer live, and TN427 when the tenant asks the user's role for a second factor that the session has not proven.
-- Locks tenant and membership FOR SHARE, so that neither is suspended or revoked before the commit. It checks the session
-- itself and locks the tenant first, so app.enter_session (0008) must not precede it in the same transaction.
create function app.select_tenant(
    p_ticket bytea, p_tenant uuid, p_idle_seconds integer, p_source app.source)
  returns setof app.live_sessions
  language plpgsql security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  set enable_seqscan = off
  set plan_cache_mode = force_generic_plan
  as $$
declare
  v_user uuid;
  v_session uuid;
  v_previous uuid;
begin
  select t.user_id, t.session_id into v_user, v_session from app.check_ticket(p_ticket, 'session') t;
  perform from app.tenants t
    where t.id = p_tenant and t.deleted_at is null and app.is_open(t.status) for share;
  if not found then
    return;
  end if;
  perform from app.memberships m
    where m.tenant_id = p_tenant and m.user_id = v_user and m.accepted_at is not null and m.revoked_at is null for share;
  if not found then
    return;
  end if;
  select s.tenant_id into v_previous from app.sessions s where s.id = v_session for no key update;
  update app.sessions s
     set tenant_id = p_tenant, last_seen_at = now(),
         idle_expires_at = least(now() + make_interval(secs => p_idle_seconds), s.absolute_expires_at)
   where s.id = v_session and (s.revoked_at is null and s.idle_expires_at > now() and s.absolute_expires_at > now()) is not false;
  if not found then
    raise exception 'the session is no longer live' using errcode = 'TN401';
  end if;
  if exists (select from app.tenants t
               join app.memberships m on m.tenant_id = t.id and m.user_id = v_user and m.revoked_at is null
               join app.roles r on r.id = m.role_id
               join app.sessions s on s.id = v_session and s.second_factor_at is null
              where t.id = p_tenant
                and app.second_factor_from(t.second_factor_managers_from, t.second_factor_everyone_from, r.permissions) <= clock_timestamp()) then
    raise exception 'the tenant asks for a second factor' using errcode = 'TN427';
  end if;
  if v_previous is distinct from p_tenant then
    insert into app.audit_log
      (tenant_id, actor_user_id, action, target_type, target_id, request_id, client_request_id, ip_hash)
    values (p_tenant, v_user, 'session.tenant_selected', 'session', v_session, p_source.request_id, p_source.client_request_id,
            app.tenant_ip_hash(p_source.ip_hash, p_tenant));
    -- A write in progress of the user shares the lock of the row. The time is not worth a wait for it.
    update app.memberships m set selected_at = now()
     where m.id = (select o.id from app.memberships o where o.tenant_id = p_tenant and o.user_id = v_user
                      for no key update skip locked);
  end if;
  return query select * from app.live_session(v_session);
end
$$;
comment on function app.select_tenant is
  'owner: identity_gate; proof: ticket; callers: identity_auth; '
  'definer: writes the tenant of a session after a look at the memberships of its user';

-- The functions below run as identity_resolver and read across tenants. They act for the session of a ticket. Those that return
-- rows return none unless that session is live.

-- Returns the memberships of the session's user in open tenants, which the session may select, and in suspended ones.
create function app.tenants_of_session(p_ticket bytea)
  returns table (membership_id uuid, tenant_id uuid, slug text, legal_name text, status text,
                 role_code text, role_label text, role_rank integer, selected_at text, second_factor_from timestamptz, is_two_factor boolean,
                 timezone text)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  set enable_seqscan = off
  set plan_cache_mode = force_generic_plan
  as $$
#variable_conflict use_column
begin
  return query
    select m.id, t.id, t.slug, t.legal_name::text, t.status, r.code, r.label::text, r.rank, m.selected_at::text,
           app.second_factor_from(t.second_factor_managers_from, t.second_factor_everyone_from, r.permissions), s.second_factor_at is not null,
           t.timezone
      from app.check_ticket(p_ticket, 'session') ticket
      join app.sessions s on s.id = ticket.session_id
      join app.users u on u.id = s.user_id and u.disabled_at is null
      join app.memberships m on m.user_id = s.user_id and m.accepted_at is not null and m.revoked_at is null
      join app.tenants t on t.id = m.tenant_id and t.deleted_at is null and (app.is_open(t.status) or t.status = 'suspended')
      join app.roles r on r.id = m.role_id
     where (s.revoked_at is null and s.idle_expires_at > now() and s.absolute_expires_at > now()) is not false
     order by t.legal_name, t.id;
end
$$;
comment on function app.tenants_of_session is
  'owner: identity_resolver; proof: ticket; callers: identity_auth; definer: reads the tenants of a user';

-- Returns up to p_limit live sessions of the session's user with their tenants, the newest first, from the one before
-- (p_before, p_before_id) on.
create function app.sessions_of_session(
    p_ticket bytea, p_before timestamptz default 'infinity', p_before_id uuid default 'ffffffff-ffff-ffff-ffff-ffffffffffff',
    p_limit integer default 100)
  returns table (id uuid, user_agent text, created_at timestamptz, last_seen_at timestamptz, second_factor boolean, tenant_id uuid,
                 slug text, legal_name text, status text, timezone text, currency text)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  set enable_seqscan = off
  set plan_cache_mode = force_generic_plan
  as $$
#variable_conflict use_column
begin
  return query
    select o.id, o.user_agent::text, o.created_at, o.last_seen_at, o.second_factor_at is not null, t.id, t.slug, t.legal_name::text,
           t.status, t.timezone, t.currency
      from app.check_ticket(p_ticket, 'session') ticket
      join app.sessions s on s.id = ticket.session_id
      join app.users u on u.id = s.user_id and u.disabled_at is null
      -- OFFSET 0 keeps the planner from reading all live sessions first, as it would while the table is small.
      cross join lateral (
        select n.id, n.user_id, n.tenant_id, n.user_agent, n.created_at, n.last_seen_at, n.idle_expires_at, n.absolute_expires_at,
               n.second_factor_at
          from app.sessions n where n.user_id = s.user_id and n.revoked_at is null offset 0) o
      left join app.tenants t on t.id = o.tenant_id and t.deleted_at is null and app.is_open(t.status)
      left join app.memberships m on m.tenant_id = o.tenant_id and m.user_id = o.user_id
            and m.accepted_at is not null and m.revoked_at is null
     where (s.revoked_at is null and s.idle_expires_at > now() and s.absolute_expires_at > now()) is not false
       and o.idle_expires_at > now() and o.absolute_expires_at > now()
       and (o.tenant_id is null or (t.id is not null and m.id is not null))
       and (o.created_at, o.id) < (p_before, p_before_id)
     order by o.created_at desc, o.id desc
     limit p_limit;
end
$$;
comment on function app.sessions_of_session is
  'owner: identity_resolver; proof: ticket; callers: identity_auth; definer: reads the sessions of a user';

-- Ends the user's live session p_session or, when that is null, every session except p_kept. Returns how many live sessions it
-- ended, and writes an audit entry for each that had a tenant, in the same transaction.
-- Without p_session it also revokes expired sessions, because a concurrent request may be moving their expiry. It neither
-- counts nor audits those.
create function app.end_sessions_of(
    p_user uuid, p_session uuid, p_kept uuid, p_action text,
    p_source app.source)
  returns integer
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_ended integer;
begin
  perform app.lock_user(p_user);
  with ended as (
    update app.sessions s set revoked_at = now()
     where s.user_id = p_user and s.revoked_at is null
       and case when p_session is null then s.id is distinct from p_kept
                else s.id = p_session and s.idle_expires_at > now() and s.absolute_expires_at > now() end
    returning s.id, s.tenant_id, s.idle_expires_at > now() and s.absolute_expires_at > now() as live
  ), audited as (
    insert into app.audit_log (tenant_id, actor_user_id, action, target_type, target_id, request_id, client_request_id, ip_hash)
    select e.tenant_id, p_user, p_action, 'session', e.id, p_source.request_id, p_source.client_request_id,
           app.tenant_ip_hash(p_source.ip_hash, e.tenant_id)
      from ended e where e.live and e.tenant_id is not null
  )
  select count(*) into v_ended from ended e where e.live;
  return v_ended;
end
$$;
comment on function app.end_sessions_of is 'callers: identity_resolver, identity_gate';

-- Ends the live session p_session of the ticket's user or, when that is null, every session except the ticket's.
-- Returns how many live sessions it ended.
create function app.end_sessions(
    p_ticket bytea, p_session uuid, p_action text, p_source app.source)
  returns integer
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_ticket record := app.check_ticket(p_ticket, 'session');
begin
  return app.end_sessions_of(
    v_ticket.user_id, p_session, v_ticket.session_id, p_action, p_source);
end
$$;
comment on function app.end_sessions is
  'owner: identity_resolver; proof: ticket; callers: identity_auth; '
  'definer: ends sessions in all tenants of a user, and audits each in its tenant';

-- Ends all live sessions of a user but the p_kept most recently used, and writes an audit entry for each that had a tenant.
-- Returns how many it ended. Requires a lock on the user's row: concurrent sign-ins would else all find room for one more.
create function app.end_unused_sessions(
    p_user uuid, p_kept integer, p_source app.source)
  returns integer
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  -- Apart from the write below: with this search in it, Postgres plans the write again at each sign-in. Few sign-ins have a session to end.
  v_unused uuid[] := array(
    select l.id from app.sessions l
     where l.user_id = p_user and l.revoked_at is null and l.idle_expires_at > now() and l.absolute_expires_at > now()
     order by l.last_seen_at desc, l.id offset p_kept);
  v_ended integer;
begin
  if v_unused = '{}' then
    return 0;
  end if;
  with ended as (
    update app.sessions s set revoked_at = now()
     where (s.revoked_at is null) is not false and s.id = any (v_unused)
    returning s.id, s.tenant_id
  ), audited as (
    insert into app.audit_log
      (tenant_id, actor_user_id, action, target_type, target_id, after, request_id, client_request_id, ip_hash)
    select e.tenant_id, p_user, 'session.revoked', 'session', e.id, '{"reason": "too many sessions"}', p_source.request_id,
           p_source.client_request_id, app.tenant_ip_hash(p_source.ip_hash, e.tenant_id)
      from ended e where e.tenant_id is not null
  )
  select count(*) into v_ended from ended;
  return v_ended;
end
$$;
comment on function app.end_unused_sessions is
  'owner: identity_resolver; proof: none; callers: identity_gate; '
  'definer: ends sessions in all tenants of a user, and audits each in its tenant';

-- For the job `maintain`: deletes up to p_batch sessions that expired 30 days ago, and returns how many. The order makes Postgres read the index
-- by expiry. A login with DELETE could lock the whole table, and keep everybody out.
create function app.delete_old_sessions(p_batch integer) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_deleted integer;
begin
  delete from app.sessions where id = any (array(
    select s.id from app.sessions s
     where s.absolute_expires_at < now() - interval '30 days' order by s.absolute_expires_at limit p_batch));
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;
comment on function app.delete_old_sessions is
  'owner: identity_resolver; proof: none; callers: identity_worker; definer: deletes from a table that no login may lock';

-- The class of each column (infra/data-classification.md).
comment on table app.sessions is
  'secret: token_key, csrf_secret; personal: user_agent, last_seen_at, created_at, second_factor_at, stepped_up_at; linked: id, user_id, ip_hash; '
  'tenant: tenant_id; platform: idle_expires_at, absolute_expires_at, revoked_at; '
  'kept: 30 days after its end, by app.delete_old_sessions';

select app.give(
  'app.live_session', 'app.guesses_of', 'app.create_session', 'app.sign_in', 'app.authenticate', 'app.select_tenant', 'app.tenants_of_session',
  'app.sessions_of_session', 'app.end_sessions_of', 'app.end_sessions', 'app.end_unused_sessions',
  'app.delete_old_sessions');
