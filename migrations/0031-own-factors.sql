-- What users do with their own second factors. Each function takes the ticket of the session.
-- It has more than 300 lines, because a noun has one file.
set local role identity_owner;

-- Returns the factors of the user of a live session, oldest first, each with what is left of the recovery codes. Without a factor it
-- returns one row of nulls, and without a live session none. A passkey is usable for its RP ID alone. With p_step_up_seconds it raises TN428
-- unless the session has stepped up.
create function app.own_factors(p_ticket bytea, p_rp_id text default null, p_step_up_seconds integer default null)
  returns table (id uuid, kind text, name text, created_at timestamptz, last_used_at timestamptz, synced boolean, usable boolean,
                 codes_left integer, codes_created_at timestamptz, credential_id bytea, transports text)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
declare
  v_ticket record := app.check_ticket(p_ticket, 'session');
  v_session app.own_session;
begin
  select l.session_id, l.user_id, l.tenant_id, l.signed_in_at, l.stepped_up_at into v_session from app.live_session(v_ticket.session_id) l;
  if not found then
    return;
  end if;
  if p_step_up_seconds is not null then
    perform app.require_step_up(v_session, p_step_up_seconds);
  end if;
  return query
    select f.id, f.kind, f.name::text, f.created_at, f.last_used_at, coalesce(f.backed_up, false),
           f.kind = 'totp' or f.rp_id is not distinct from p_rp_id, app.codes_left(v_session.user_id),
           (select max(t.created_at) from app.tokens t where t.user_id = v_session.user_id and t.purpose = 'recovery_code'),
           f.credential_id, array_to_string(f.transports, ',')
      from (select v_session.user_id) as l left join app.factors f on f.user_id = l.user_id
     order by f.created_at, f.id;
end
$$;
comment on function app.own_factors is
  'owner: identity_gate; proof: ticket; callers: identity_auth; definer: reads factors, which no login may';

-- Makes the draft of a ticket's user, in place of an earlier one. Returns when it expires.
create function app.make_draft(p_ticket bytea, p_draft uuid, p_sealed bytea, p_step_up_seconds integer) returns timestamptz
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_session app.own_session;
  v_expires_at timestamptz := now() + interval '15 minutes';
begin
  v_session := app.enter_factors(p_ticket);
  perform app.require_step_up(v_session, p_step_up_seconds);
  delete from app.factor_drafts d where d.user_id = v_session.user_id;
  insert into app.factor_drafts (id, user_id, session_id, sealed, expires_at)
  values (p_draft, v_session.user_id, v_session.id, p_sealed, v_expires_at);
  return v_expires_at;
end
$$;
comment on function app.make_draft is
  'owner: identity_gate; proof: ticket; callers: identity_auth; definer: writes a table that no login reaches';

-- Returns the draft that the session of a ticket made, and the database's time. Returns no row unless it is open and the session live.
create function app.own_draft(p_ticket bytea, p_step_up_seconds integer)
  returns table (id uuid, sealed bytea, expires_at timestamptz, at bigint)
  language plpgsql stable security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
declare
  v_ticket record := app.check_ticket(p_ticket, 'session');
  v_session app.own_session;
begin
  select l.session_id, l.user_id, l.tenant_id, l.signed_in_at, l.stepped_up_at into v_session from app.live_session(v_ticket.session_id) l;
  if not found then
    return;
  end if;
  perform app.require_step_up(v_session, p_step_up_seconds);
  return query
    select d.id, d.sealed, d.expires_at, floor(extract(epoch from clock_timestamp()))::bigint from app.factor_drafts d
     where d.user_id = v_session.user_id and d.session_id = v_session.id and d.expires_at > now();
end
$$;
comment on function app.own_draft is
  'owner: identity_gate; proof: ticket; callers: identity_auth; definer: reads a table that no login reaches';

-- Uses the draft of a session, once. Returns whether it did.
create function app.use_draft(p_draft uuid, p_session app.own_session) returns boolean
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  delete from app.factor_drafts d
   where d.id = p_draft and d.user_id = p_session.user_id and d.session_id = p_session.id and d.expires_at > now();
  return found;
end
$$;
comment on function app.use_draft is 'callers: identity_gate';

-- Uses a setup code of a session's user, once. Returns why not, or nulls: `no-setup-code`, `setup-code`, and `factor-setup` for the limit.
create function app.use_setup_code(p_session app.own_session, p_setup bytea, p_setup_previous bytea) returns app.stepped_session
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_refused app.stepped_session;
  v_counted record;
begin
  if p_setup is null then
    v_refused.refused_by := 'no-setup-code';
    return v_refused;
  end if;
  v_counted := app.count_attempt(app.factor_limit(p_session.user_id, 'setup', 10, 900));
  if not v_counted.allowed then
    v_refused.refused_by := 'factor-setup';
    v_refused.retry_after_seconds := v_counted.retry_after_seconds;
    return v_refused;
  end if;
  update app.tokens t set consumed_at = now(), expires_at = now()
   where t.token_hash in (p_setup, p_setup_previous) and t.user_id = p_session.user_id and t.purpose = 'factor_setup'
     and t.consumed_at is null and t.expires_at > now();
  if not found then
    v_refused.refused_by := 'setup-code';
  end if;
  return v_refused;
end
$$;
comment on function app.use_setup_code is 'callers: identity_gate';

-- Adds the app of a draft to a ticket's user, or replaces theirs, and the recovery codes if the draft has some. The first factor needs a setup
-- code. Ends the user's other sessions. The session has two factors then, and a new token. Refused by `draft` when it is gone, by
-- `no-setup-code` and `setup-code`, and by `factor-setup`, the limit on setup codes.
create function app.add_app(
    p_ticket bytea, p_draft uuid, p_factor uuid, p_sealed bytea, p_key_id uuid, p_witness_hash bytea, p_step bigint, p_codes text,
    p_setup bytea, p_setup_previous bytea, p_token_key bytea, p_pending_seconds integer, p_step_up_seconds integer, p_source app.source)
  returns app.stepped_session
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_refused app.stepped_session;
  v_session app.own_session;
  v_is_first boolean;
  v_replaces boolean;
begin
  v_session := app.enter_factors(p_ticket);
  perform app.require_step_up(v_session, p_step_up_seconds);
  v_is_first := not exists (select from app.factors f where f.user_id = v_session.user_id);
  if v_is_first then
    v_refused := app.use_setup_code(v_session, p_setup, p_setup_previous);
    if v_refused.refused_by is not null then
      return v_refused;
    end if;
  end if;
  -- Nobody has a factor without recovery codes.
  if not app.use_draft(p_draft, v_session) or v_is_first and p_codes is null then
    v_refused.refused_by := 'draft';
    return v_refused;
  end if;
  delete from app.factors f where f.user_id = v_session.user_id and f.kind = 'totp';
  v_replaces := found;
  insert into app.factors (id, user_id, kind, name, key_id, witness_hash, last_used_at, sealed_secret, last_step)
  values (p_factor, v_session.user_id, 'totp', 'Authenticator app', p_key_id, p_witness_hash, now(), p_sealed, p_step);
  if p_codes is not null then
    perform app.replace_codes(v_session.user_id, p_codes);
  end if;
  perform app.end_sessions_of(v_session.user_id, null, v_session.id, 'session.revoked', p_source);
  perform app.audit_user(v_session.user_id, 'user.second_factor_added', '{"kind": "totp"}', p_source);
  perform app.mail_change(v_session.user_id, case when v_replaces then 'app-replaced' else 'app-added' end);
  return app.prove_session(v_session, p_token_key, p_pending_seconds);
end
$$;
comment on function app.add_app is
  'owner: identity_gate; proof: ticket; callers: identity_auth; '
  'definer: writes a factor and the token hash of a session, which no login may';

-- A passkey that was made for a challenge, whose hash is challenge_key. Its transports have a comma between them.
create type app.new_passkey as (
  factor_id uuid, name text, key_id uuid, witness_hash bytea, credential_id bytea, public_key bytea, algorithm integer, sign_count bigint,
  transports text, rp_id text, aaguid uuid, backup_eligible boolean, backed_up boolean, challenge_key bytea, challenge_expires_at timestamptz);

-- Adds a passkey to a ticket's user. The first factor needs a setup code and the recovery codes of a draft, and ends the user's other sessions.
-- The session has two factors then, and a new token. Refused by `proof` for a challenge that was used, by `factor-limit` beside ten passkeys,
-- by `passkey-exists` for the id of a passkey that anybody has, and as app.add_app refuses.
create function app.add_passkey(
    p_ticket bytea, p_passkey app.new_passkey, p_draft uuid, p_codes text, p_setup bytea, p_setup_previous bytea, p_token_key bytea,
    p_pending_seconds integer, p_step_up_seconds integer, p_source app.source)
  returns app.stepped_session
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_refused app.stepped_session;
  v_session app.own_session;
  v_is_first boolean;
begin
  v_session := app.enter_factors(p_ticket);
  perform app.require_step_up(v_session, p_step_up_seconds);
  v_is_first := not exists (select from app.factors f where f.user_id = v_session.user_id);
  v_refused.refused_by := case
    when exists (select from app.factors f where f.credential_id = p_passkey.credential_id) then 'passkey-exists'
    when (select count(*) from app.factors f where f.user_id = v_session.user_id and f.kind = 'passkey') >= 10 then 'factor-limit' end;
  if v_refused.refused_by is null and v_is_first then
    v_refused := app.use_setup_code(v_session, p_setup, p_setup_previous);
  end if;
  if v_refused.refused_by is not null then
    return v_refused;
  end if;
  -- Nobody has a factor without recovery codes.
  if v_is_first and (p_codes is null or not app.use_draft(p_draft, v_session)) then
    v_refused.refused_by := 'draft';
    return v_refused;
  end if;
  if not app.use_challenge(p_passkey.challenge_key, p_passkey.challenge_expires_at) then
    v_refused.refused_by := 'proof';
    return v_refused;
  end if;
  insert into app.factors
    (id, user_id, kind, name, key_id, witness_hash, credential_id, public_key, algorithm, sign_count, transports, rp_id, aaguid,
     backup_eligible, backed_up)
  values
    (p_passkey.factor_id, v_session.user_id, 'passkey', p_passkey.name, p_passkey.key_id, p_passkey.witness_hash, p_passkey.credential_id,
     p_passkey.public_key, p_passkey.algorithm, p_passkey.sign_count, string_to_array(p_passkey.transports, ','), p_passkey.rp_id,
     p_passkey.aaguid, p_passkey.backup_eligible, p_passkey.backed_up)
  on conflict (credential_id) do nothing;
  if not found then
    v_refused.refused_by := 'passkey-exists';
    return v_refused;
  end if;
  if v_is_first then
    perform app.replace_codes(v_session.user_id, p_codes);
    perform app.end_sessions_of(v_session.user_id, null, v_session.id, 'session.revoked', p_source);
  end if;
  perform app.audit_user(v_session.user_id, 'user.second_factor_added', '{"kind": "passkey"}', p_source);
  perform app.mail_change(v_session.user_id, 'passkey-added');
  return app.prove_session(v_session, p_token_key, p_pending_seconds);
end
$$;
comment on function app.add_passkey is
  'owner: identity_gate; proof: ticket; callers: identity_auth; '
  'definer: writes a factor and the token hash of a session, which no login may';

-- Returns the open tenants that ask a member for a second factor, now or later, and from when on.
create function app.second_factor_of_tenants(p_user uuid)
  returns table (tenant_id uuid, slug text, legal_name text, second_factor_from timestamptz)
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
begin
  return query
    select t.id, t.slug, t.legal_name::text,
           app.second_factor_from(t.second_factor_managers_from, t.second_factor_everyone_from, r.permissions)
      from app.memberships m
      join app.tenants t on t.id = m.tenant_id and t.deleted_at is null and app.is_open(t.status)
      join app.roles r on r.id = m.role_id
     where m.user_id = p_user and m.accepted_at is not null and m.revoked_at is null
       and app.second_factor_from(t.second_factor_managers_from, t.second_factor_everyone_from, r.permissions) is not null
     order by t.legal_name, t.id;
end
$$;
comment on function app.second_factor_of_tenants is 'callers: identity_gate';

-- Renames a factor of a ticket's user and returns it. Returns no row for another id.
create function app.rename_factor(p_ticket bytea, p_factor uuid, p_name text) returns setof app.factors
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_session app.own_session;
  v_factor app.factors;
begin
  v_session := app.enter_factors(p_ticket);
  update app.factors f set name = p_name where f.id = p_factor and f.user_id = v_session.user_id returning * into v_factor;
  if found then
    v_factor.sealed_secret := null;
    v_factor.witness_hash := null;
    return next v_factor;
  end if;
end
$$;
comment on function app.rename_factor is
  'owner: identity_gate; proof: ticket; callers: identity_auth; definer: writes a factor, which no login may';

-- Removes a factor of a ticket's user, and ends their other sessions. Without a factor left, the session has one factor, and recovery codes,
-- drafts and open sign-ins are void. Returns false for another id. Raises TN429 for the last factor while a tenant asks for one, and of a user
-- without a password.
create function app.remove_factor(p_ticket bytea, p_factor uuid, p_step_up_seconds integer, p_source app.source) returns boolean
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_session app.own_session;
  v_kind text;
begin
  v_session := app.enter_factors(p_ticket);
  perform app.require_step_up(v_session, p_step_up_seconds);
  delete from app.factors f where f.id = p_factor and f.user_id = v_session.user_id returning f.kind into v_kind;
  if not found then
    return false;
  end if;
  if not exists (select from app.factors f where f.user_id = v_session.user_id)
     and (exists (select from app.second_factor_of_tenants(v_session.user_id))
          or exists (select from app.users u where u.id = v_session.user_id and u.password_hash is null)) then
    raise exception 'a tenant asks for a second factor, or the user has no password' using errcode = 'TN429';
  end if;
  perform app.end_sessions_of(v_session.user_id, null, v_session.id, 'session.revoked', p_source);
  if not exists (select from app.factors f where f.user_id = v_session.user_id) then
    perform app.replace_codes(v_session.user_id, '');
    delete from app.factor_drafts d where d.user_id = v_session.user_id;
    delete from app.open_sign_ins o where o.user_id = v_session.user_id;
    update app.sessions s set second_factor_at = null where s.id = v_session.id;
  end if;
  perform app.audit_user(v_session.user_id, 'user.second_factor_removed', jsonb_build_object('kind', v_kind), p_source);
  perform app.mail_change(v_session.user_id, case v_kind when 'totp' then 'app-removed' else 'passkey-removed' end);
  return true;
end
$$;
comment on function app.remove_factor is
  'owner: identity_gate; proof: ticket; callers: identity_auth; definer: deletes a factor, which no login may';

-- Replaces the recovery codes of a ticket's user by those of a draft. Returns false when the draft is gone, and without a factor.
create function app.renew_recovery_codes(p_ticket bytea, p_draft uuid, p_codes text, p_step_up_seconds integer, p_source app.source)
  returns boolean
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_session app.own_session;
begin
  v_session := app.enter_factors(p_ticket);
  perform app.require_step_up(v_session, p_step_up_seconds);
  if not exists (select from app.factors f where f.user_id = v_session.user_id) or not app.use_draft(p_draft, v_session) then
    return false;
  end if;
  perform app.replace_codes(v_session.user_id, p_codes);
  perform app.audit_user(v_session.user_id, 'user.recovery_codes_renewed', jsonb_build_object('codes_left', app.codes_left(v_session.user_id)), p_source);
  perform app.mail_change(v_session.user_id, 'codes-renewed');
  return true;
end
$$;
comment on function app.renew_recovery_codes is
  'owner: identity_gate; proof: ticket; callers: identity_auth; definer: writes tokens, which no login may';

-- Mails a setup code to a ticket's user, unless they have a factor. Returns the seconds until the limit of mails allows one, or null.
create function app.request_setup_code(p_ticket bytea, p_nonce text, p_most integer, p_step_up_seconds integer) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_session app.own_session;
  v_counted record;
begin
  v_session := app.enter_factors(p_ticket);
  perform app.require_step_up(v_session, p_step_up_seconds);
  if exists (select from app.factors f where f.user_id = v_session.user_id) then
    return null;
  end if;
  v_counted := app.count_attempt(app.factor_limit(v_session.user_id, 'setup-mail', p_most, 3600));
  if not v_counted.allowed then
    return v_counted.retry_after_seconds;
  end if;
  perform app.enqueue('mail', jsonb_build_object('template', 'second-factor-setup', 'user_id', v_session.user_id, 'nonce', p_nonce));
  return null;
end
$$;
comment on function app.request_setup_code is
  'owner: identity_gate; proof: ticket; callers: identity_auth; definer: reads the factors of a user, which no login may';

select app.give(
  'app.own_factors', 'app.make_draft', 'app.own_draft', 'app.use_draft', 'app.use_setup_code', 'app.add_app', 'app.add_passkey',
  'app.second_factor_of_tenants', 'app.rename_factor', 'app.remove_factor',
  'app.renew_recovery_codes', 'app.request_setup_code');
