-- The step-up: a proof of presence within a live session. Each function takes the ticket of the session.
set local role identity_owner;

-- What a change of one's own session or factors ended with: why it was refused, or null and the times of the session.
create type app.stepped_session as (
  refused_by text, retry_after_seconds integer, idle_expires_at timestamptz, absolute_expires_at timestamptz,
  second_factor_at timestamptz, stepped_up_at timestamptz);

-- What these functions know of the session of a ticket.
create type app.own_session as (
  id uuid, user_id uuid, tenant_id uuid, created_at timestamptz, stepped_up_at timestamptz);

-- Raises TN428 unless a session has stepped up in the last p_seconds. A user with a factor needs a step-up that is newer than the sign-in: a
-- token that was stolen at the sign-in changes no factor.
create function app.require_step_up(p_session app.own_session, p_seconds integer) returns void
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform app.check_step_up(p_session.stepped_up_at, coalesce(p_seconds, 0));
  if p_session.stepped_up_at <= p_session.created_at and exists (select from app.factors f where f.user_id = p_session.user_id) then
    raise exception 'the session needs a step-up' using errcode = 'TN428';
  end if;
end
$$;
comment on function app.require_step_up is 'callers: identity_gate';

-- Begins a change of the factors, or of the proofs, of a ticket's user, and returns the session. Raises TN401 when the session is no longer
-- live. Lock order: the open sign-ins, the user (advisory), the session, the user's row.
create function app.enter_factors(p_ticket bytea) returns app.own_session
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_ticket record := app.check_ticket(p_ticket, 'session');
  v_session app.own_session;
begin
  perform from app.open_sign_ins o where o.user_id = v_ticket.user_id order by o.id for update;
  perform app.enter_session(p_ticket);
  perform from app.users u where u.id = v_ticket.user_id and u.disabled_at is null for no key update;
  if not found then
    raise exception 'the user is disabled' using errcode = 'TN401';
  end if;
  select s.id, s.user_id, s.tenant_id, s.created_at, s.stepped_up_at into strict v_session
    from app.sessions s where s.id = v_ticket.session_id;
  return v_session;
end
$$;
comment on function app.enter_factors is 'callers: identity_gate';

-- Gives a session a new token, and a step-up now. A session without a tenant lives p_pending_seconds from now, so that setting up fits.
create function app.prove_session(p_session app.own_session, p_token_key bytea, p_pending_seconds integer) returns app.stepped_session
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_done app.stepped_session;
begin
  update app.sessions s
     set token_key = p_token_key, stepped_up_at = clock_timestamp(),
         second_factor_at = case when exists (select from app.factors f where f.user_id = s.user_id) then coalesce(s.second_factor_at, now()) end,
         idle_expires_at = case when s.tenant_id is null
           then least(now() + make_interval(secs => p_pending_seconds), s.absolute_expires_at) else s.idle_expires_at end
   where s.id = p_session.id
  returning null, null, s.idle_expires_at, s.absolute_expires_at, s.second_factor_at, s.stepped_up_at into v_done;
  return v_done;
end
$$;
comment on function app.prove_session is 'callers: identity_gate';

-- Returns the user's app with its sealed secret, and counts a wrong code: see app.look_at_sign_in. Returns a row of nulls without an app that
-- works, and the name of a limit that refuses the code. Returns no row unless the session is live.
create function app.look_at_own_app(p_ticket bytea, p_network bytea, p_most integer, p_seconds integer, p_most_a_day integer)
  returns table (refused_by text, retry_after_seconds integer,
                 factor_id uuid, key_id uuid, sealed_secret bytea, last_step bigint, at bigint)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
declare
  v_ticket record := app.check_ticket(p_ticket, 'session');
begin
  if not exists (select from app.live_session(v_ticket.session_id)) then
    return;
  end if;
  select c.refused_by, c.retry_after_seconds into refused_by, retry_after_seconds
    from app.count_code(v_ticket.user_id, p_network, p_most, p_seconds, p_most_a_day) c;
  if refused_by is null then
    select a.factor_id, a.key_id, a.sealed_secret, a.last_step, a.at into factor_id, key_id, sealed_secret, last_step, at
      from app.show_app(v_ticket.user_id) a;
  end if;
  return next;
end
$$;
comment on function app.look_at_own_app is
  'owner: identity_gate; proof: ticket; callers: identity_auth; definer: reads a factor, which no login may';

-- Returns the passkey of this id of the user of a ticket, and counts the attempt: see app.find_passkey. Returns no row unless the session is
-- live.
create function app.look_at_own_passkey(p_ticket bytea, p_credential bytea, p_network_limit app.limit)
  returns table (refused_by text, retry_after_seconds integer,
                 user_id uuid, factor_id uuid, key_id uuid, public_key bytea, rp_id text)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_ticket record := app.check_ticket(p_ticket, 'session');
begin
  if exists (select from app.live_session(v_ticket.session_id)) then
    return query
      select * from app.find_passkey(p_credential, p_network_limit) f
       where f.refused_by is not null or f.user_id = v_ticket.user_id;
  end if;
end
$$;
comment on function app.look_at_own_passkey is
  'owner: identity_gate; proof: ticket; callers: identity_auth; definer: reads a factor, which no login may';

-- Steps up the session of a ticket by the password, if its user has no factor; otherwise by a code of the app or a passkey with its witness, or
-- by a recovery code. The session gets a new token. Refuses by `proof`, and records the failure, when nothing proves it. A recovery code counts
-- against the limit of the client's network.
create function app.step_up(
    p_ticket bytea, p_digest bytea, p_factor uuid, p_step bigint, p_witness bytea, p_code bytea, p_code_previous bytea,
    p_network_limit app.limit, p_token_key bytea, p_pending_seconds integer, p_source app.source,
    p_passkey app.passkey_proof default null)
  returns app.stepped_session
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_refused app.stepped_session;
  v_session app.own_session;
  v_counted record;
  v_proven boolean;
begin
  if p_code is not null then
    perform app.check_ticket(p_ticket, 'session');
    -- Before it locks open sign-ins, as in app.look_at_sign_in.
    v_counted := app.count_attempt(p_network_limit);
    if not v_counted.allowed then
      v_refused.refused_by := 'second-factor-ip';
      v_refused.retry_after_seconds := v_counted.retry_after_seconds;
      return v_refused;
    end if;
  end if;
  v_session := app.enter_factors(p_ticket);
  if p_code is not null then
    v_proven := app.accept_recovery_code(v_session.user_id, p_code, p_code_previous, p_source);
  elsif p_step is not null then
    v_proven := app.accept_code(v_session.user_id, p_factor, p_step, p_witness);
  elsif p_passkey.factor_id is not null then
    v_proven := app.accept_passkey(v_session.user_id, p_passkey);
  else
    v_proven := not exists (select from app.factors f where f.user_id = v_session.user_id)
      and (select app.is_digest_of(p_digest, u.password_hash) from app.users u where u.id = v_session.user_id);
  end if;
  if v_proven is not true then
    -- Does not wait for the disk: the next of the user waits for this one.
    perform set_config('synchronous_commit', 'off', true);
    insert into app.failed_sign_ins (user_id, request_id, client_request_id, ip_hash, step)
    values (v_session.user_id, p_source.request_id, p_source.client_request_id, p_source.ip_hash, 'second_factor');
    v_refused.refused_by := 'proof';
    return v_refused;
  end if;
  -- Who proves a factor has not lost it.
  perform app.end_reset(v_session.user_id, v_session.user_id, null, p_source);
  if v_session.tenant_id is not null then
    insert into app.audit_log (tenant_id, actor_user_id, action, target_type, target_id, request_id, client_request_id, ip_hash)
    values (v_session.tenant_id, v_session.user_id, 'session.stepped_up', 'session', v_session.id, p_source.request_id,
            p_source.client_request_id, app.tenant_ip_hash(p_source.ip_hash, v_session.tenant_id));
  end if;
  return app.prove_session(v_session, p_token_key, p_pending_seconds);
end
$$;
comment on function app.step_up is
  'owner: identity_gate; proof: ticket, password digest, witness, code hash; callers: identity_auth; '
  'definer: writes the token hash of a session';

select app.give(
  'app.require_step_up', 'app.enter_factors', 'app.prove_session', 'app.look_at_own_app', 'app.look_at_own_passkey', 'app.step_up');
