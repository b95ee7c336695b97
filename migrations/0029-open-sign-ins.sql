-- Open sign-ins: the password was right, and a second factor is still owed. An open sign-in is no session: the session check finds nothing.
-- It lives ten minutes and five tries, and dies when the password changes or the user is disabled.
set local role identity_owner;

create table app.open_sign_ins (
  id             uuid primary key default gen_random_uuid(),
  token_key      app.hash not null unique,
  user_id        uuid not null references app.users,
  -- What the sign-in took of its limits. It counts as a failure until it is finished.
  limit_key      bytea,
  taken          jsonb not null,
  taken_in_cache text[] not null,
  -- After the lock of the user, so that a change of the password before it is older.
  created_at     timestamptz not null default clock_timestamp(),
  expires_at     timestamptz not null,
  tries          integer not null default 0 check (tries between 0 and 5)
);
create index open_sign_ins_by_user on app.open_sign_ins (user_id, created_at);
create index open_sign_ins_by_expiry on app.open_sign_ins (expires_at);

-- No statistics: see app.tenants.
alter table app.open_sign_ins alter column token_key set statistics 0;
alter table app.open_sign_ins enable row level security, force row level security;
create policy gate on app.open_sign_ins to identity_gate using (true);
comment on policy gate on app.open_sign_ins is 'finds an open sign-in by its token hash';
grant select, insert, update (tries), delete on app.open_sign_ins to identity_gate;

-- Returns whether an open sign-in may still be finished: its time is not over, ten newer ones of the user do not push it out, the password is
-- the one that was right, and the user is enabled.
create function app.is_open_sign_in(p_sign_in app.open_sign_ins) returns boolean
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  as $$
begin
  return p_sign_in.expires_at > clock_timestamp()
     and exists (select from app.users u
                  where u.id = p_sign_in.user_id and u.disabled_at is null and u.resets_valid_from < p_sign_in.created_at)
     and (select count(*) from (select from app.open_sign_ins n
                                 where n.user_id = p_sign_in.user_id and n.created_at > p_sign_in.created_at limit 10) newer) < 10;
end
$$;
comment on function app.is_open_sign_in is 'callers: identity_gate';

-- Opens a sign-in of a user whose row the transaction has locked, and returns when it expires.
create function app.open_sign_in(
    p_user uuid, p_token_key bytea, p_limit_key bytea, p_taken jsonb, p_taken_in_cache text[])
  returns timestamptz
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_expires_at timestamptz := now() + interval '10 minutes';
begin
  insert into app.open_sign_ins (token_key, user_id, limit_key, taken, taken_in_cache, expires_at)
  values (p_token_key, p_user, p_limit_key, p_taken, p_taken_in_cache, v_expires_at);
  return v_expires_at;
end
$$;
comment on function app.open_sign_in is 'callers: identity_gate';

-- Takes a try of an open sign-in, and then returns what the code is checked with: for `totp` the user's app with its sealed secret, or nulls
-- without one that works, and for `passkey` the user's passkey of that id. A code of an app counts against the limits of the user first, the
-- other methods against that of the client's network alone. A limit that refuses takes no try: the row has its name. Returns no row when no open sign-in with a try left has the token.
create function app.look_at_sign_in(
    p_token_key bytea, p_previous bytea, p_method text, p_network bytea, p_most integer, p_seconds integer, p_most_a_day integer,
    p_network_limit app.limit, p_credential bytea default null)
  returns table (user_id uuid, refused_by text, retry_after_seconds integer, limit_key bytea, taken_in_cache jsonb,
                 factor_id uuid, key_id uuid, sealed_secret bytea, last_step bigint, at bigint,
                 public_key bytea, rp_id text)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
declare
  v_open app.open_sign_ins;
begin
  select * into v_open from app.open_sign_ins o where o.token_key in (p_token_key, p_previous);
  if not found or not (v_open.tries < 5) or not app.is_open_sign_in(v_open) then
    return;
  end if;
  if p_method = 'totp' then
    select c.refused_by, c.retry_after_seconds into refused_by, retry_after_seconds
      from app.count_code(v_open.user_id, p_network, p_most, p_seconds, p_most_a_day) c;
  else
    select 'second-factor-ip', c.retry_after_seconds into refused_by, retry_after_seconds
      from app.count_attempt(p_network_limit) c where not c.allowed;
  end if;
  user_id := v_open.user_id;
  if refused_by is not null then
    return next;
    return;
  end if;
  update app.open_sign_ins o set tries = o.tries + 1
   where o.id = v_open.id and o.expires_at > clock_timestamp() and o.tries < 5;
  if not found then
    return;
  end if;
  if p_method = 'totp' then
    select a.factor_id, a.key_id, a.sealed_secret, a.last_step, a.at into factor_id, key_id, sealed_secret, last_step, at
      from app.show_app(v_open.user_id) a;
  elsif p_method = 'passkey' then
    select f.id, f.key_id, f.public_key, f.rp_id into factor_id, key_id, public_key, rp_id
      from app.factors f where f.credential_id = p_credential and f.user_id = v_open.user_id;
  end if;
  limit_key := v_open.limit_key;
  taken_in_cache := to_jsonb(v_open.taken_in_cache);
  return next;
end
$$;
comment on function app.look_at_sign_in is
  'owner: identity_gate; proof: token hash; callers: identity_auth; definer: finds an open sign-in by its token, and shows a sealed secret';

-- Finishes an open sign-in by a code of the user's app or a passkey, with its witness, or by a recovery code: deletes it, and creates a session
-- without a tenant, with the effects of a sign-in. Returns the session; a row of nulls when nothing proves the factor, which it records as a failure;
-- and no row when the open sign-in is gone. The sign-in ends the live session of the token that this request carries, whoever its user is.
-- Lock order: the open sign-in, the users (advisory), the user's row, the factor.
create function app.finish_sign_in(
    p_open_key bytea, p_open_previous bytea, p_factor uuid, p_step bigint, p_witness bytea, p_code bytea, p_code_previous bytea,
    p_token_key bytea, p_csrf_secret bytea, p_network bytea, p_user_agent text, p_pending_seconds integer, p_absolute_seconds integer,
    p_most integer, p_source app.source, p_sent_key bytea default null, p_sent_previous bytea default null,
    p_device_hash bytea default null, p_device jsonb default null, p_passkey app.passkey_proof default null)
  returns setof app.live_sessions
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_open app.open_sign_ins;
  v_email text;
  v_none app.live_sessions;
  v_session uuid;
  v_proven boolean := false;
begin
  select * into v_open from app.open_sign_ins o where o.token_key in (p_open_key, p_open_previous) for update;
  if not found then
    return;
  end if;
  perform app.lock_user(s.user_id) from app.sessions s where s.token_key in (p_sent_key, p_sent_previous);
  select u.email into v_email from app.users u where u.id = v_open.user_id for no key update;
  if not app.is_open_sign_in(v_open) then
    return;
  end if;
  if p_code is not null then
    v_proven := app.accept_recovery_code(v_open.user_id, p_code, p_code_previous, p_source);
  elsif p_step is not null then
    v_proven := app.accept_code(v_open.user_id, p_factor, p_step, p_witness);
  elsif p_passkey.factor_id is not null then
    v_proven := app.accept_passkey(v_open.user_id, p_passkey);
  end if;
  if not v_proven then
    insert into app.failed_sign_ins (user_id, request_id, client_request_id, ip_hash, step)
    values (v_open.user_id, p_source.request_id, p_source.client_request_id, p_source.ip_hash, 'second_factor');
    if v_open.tries >= 5 then
      perform app.mail_change(v_open.user_id, 'wrong-codes', 'wrong codes ' || v_open.user_id || ' ' || (now() at time zone 'UTC')::date);
    end if;
    return next v_none;
    return;
  end if;
  delete from app.open_sign_ins o where o.id = v_open.id;
  -- What is left of a sign-in that a success forgives.
  perform app.give_back_attempts(v_open.taken);
  delete from app.rate_limits r where r.key = (app.factor_limit(v_open.user_id, 'code', 1, 1, p_network)).key;
  v_session := app.create_session(
    v_open.user_id, p_token_key, p_csrf_secret, app.network_of(p_network, v_email), app.network_of(p_device_hash, v_email), p_device, p_user_agent, p_pending_seconds, p_absolute_seconds,
    p_most, p_source, p_sent_key, p_sent_previous, v_open.limit_key, p_proven => true);
  return query select * from app.live_session(v_session);
end
$$;
comment on function app.finish_sign_in is
  'owner: identity_gate; proof: token hash, witness, code hash; callers: identity_auth; '
  'definer: finds an open sign-in by its token, and creates a session';

-- Returns the ids of the passkeys of an open sign-in's user for an RP ID, oldest first, with commas between the transports: a row of nulls without
-- one. Counts no try. Returns no
-- row when the open sign-in is gone.
create function app.passkeys_of_sign_in(p_token_key bytea, p_previous bytea, p_rp_id text)
  returns table (credential_id bytea, transports text)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
declare
  v_open app.open_sign_ins;
begin
  select * into v_open from app.open_sign_ins o where o.token_key in (p_token_key, p_previous);
  if not found or not (v_open.tries < 5) or not app.is_open_sign_in(v_open) then
    return;
  end if;
  return query
    select f.credential_id, array_to_string(f.transports, ',')
      from (select v_open.user_id) as o left join app.factors f on f.user_id = o.user_id and f.kind = 'passkey' and f.rp_id = p_rp_id
     order by f.created_at, f.id;
end
$$;
comment on function app.passkeys_of_sign_in is
  'owner: identity_gate; proof: token hash; callers: identity_auth; definer: finds an open sign-in by its token, and reads factors';

-- Signs a user in by a passkey alone, with the effects of a sign-in, and returns the session: without a tenant and with two factors. Returns no
-- row, and records the failure, when the passkey is refused or the user disabled. The sign-in ends the live session of the token that this
-- request carries, whoever its user is. Lock order: the users (advisory), the user's row, the factor.
create function app.sign_in_by_passkey(
    p_passkey app.passkey_proof, p_token_key bytea, p_csrf_secret bytea, p_network bytea, p_user_agent text, p_pending_seconds integer,
    p_absolute_seconds integer, p_most integer, p_source app.source, p_sent_key bytea default null, p_sent_previous bytea default null,
    p_device_hash bytea default null, p_device jsonb default null)
  returns setof app.live_sessions
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_user app.users;
  v_owner uuid := (select f.user_id from app.factors f where f.id = p_passkey.factor_id);
  v_session uuid;
begin
  perform app.lock_user(s.user_id) from app.sessions s where s.token_key in (p_sent_key, p_sent_previous);
  select * into v_user from app.users u where u.id = v_owner for no key update;
  if v_user.id is null then
    return;
  end if;
  if v_user.disabled_at is not null or not app.accept_passkey(v_owner, p_passkey) then
    insert into app.failed_sign_ins (user_id, request_id, client_request_id, ip_hash, step)
    values (v_owner, p_source.request_id, p_source.client_request_id, p_source.ip_hash, 'second_factor');
    return;
  end if;
  v_session := app.create_session(
    v_owner, p_token_key, p_csrf_secret, app.network_of(p_network, v_user.email), app.network_of(p_device_hash, v_user.email), p_device,
    p_user_agent, p_pending_seconds, p_absolute_seconds, p_most, p_source, p_sent_key, p_sent_previous, null, p_proven => true);
  return query select * from app.live_session(v_session);
end
$$;
comment on function app.sign_in_by_passkey is
  'owner: identity_gate; proof: witness; callers: identity_auth; definer: creates a session';

-- For the job `maintain`: deletes up to p_batch open sign-ins that expired a day ago, and returns how many.
create function app.delete_old_sign_ins(p_batch integer) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_deleted integer;
begin
  delete from app.open_sign_ins where id = any (array(
    select o.id from app.open_sign_ins o where o.expires_at < now() - interval '1 day' order by o.expires_at limit p_batch));
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;
comment on function app.delete_old_sign_ins is
  'owner: identity_gate; proof: none; callers: identity_worker; definer: deletes from a table that no login reaches';

-- The class of each column (infra/data-classification.md).
comment on table app.open_sign_ins is
  'secret: token_key; linked: id, user_id, limit_key, taken, taken_in_cache; platform: created_at, expires_at, tries; '
  'kept: 1 day after its expiry, by app.delete_old_sign_ins';

select app.give(
  'app.is_open_sign_in', 'app.open_sign_in', 'app.look_at_sign_in', 'app.finish_sign_in', 'app.passkeys_of_sign_in',
  'app.sign_in_by_passkey', 'app.delete_old_sign_ins');
