-- Second factors: authenticator apps and passkeys, the drafts that they are set up from, and the challenges of passkeys that were used.
-- A factor belongs to a user, not to a tenant. No login reads these tables. A secret in them is sealed with the factor key, which is not in
-- the database.
-- It has more than 300 lines, because a noun has one file.
set local role identity_owner;

create table app.factors (
  id              uuid primary key,
  user_id         uuid not null references app.users,
  kind            text not null check (kind in ('totp', 'passkey')),
  name            app.one_line not null check (length(name) between 1 and 60),
  -- The factor key that it was sealed or witnessed with: see shared/factor/factor-key.ts.
  key_id          uuid not null,
  -- The SHA-256 of the witness, which only code with the factor key can compute. A proof of the factor needs the witness.
  witness_hash    app.hash not null,
  created_at      timestamptz not null default now(),
  last_used_at    timestamptz,
  -- Of an app. Codes up to the one of last_step are used. wrong_codes counts those since the password was set.
  sealed_secret   bytea check (length(sealed_secret) <= 1024),
  last_step       bigint,
  wrong_codes     integer not null default 0 check (wrong_codes between 0 and 200),
  -- Of a passkey.
  credential_id   bytea unique check (length(credential_id) between 1 and 1023),
  public_key      bytea check (length(public_key) <= 2048),
  algorithm       integer check (algorithm in (-8, -7, -257)),
  sign_count      bigint check (sign_count >= 0),
  transports      text[],
  rp_id           text check (length(rp_id) <= 253),
  aaguid          uuid,
  backup_eligible boolean,
  backed_up       boolean,
  constraint factors_have_what_their_kind_needs check (
    case kind
      when 'totp' then sealed_secret is not null and last_step is not null and credential_id is null and public_key is null
        and algorithm is null and sign_count is null and rp_id is null
      else sealed_secret is null and last_step is null and credential_id is not null and public_key is not null
        and algorithm is not null and sign_count is not null and rp_id is not null and backup_eligible is not null
        and backed_up is not null
    end)
);
create unique index factors_one_app on app.factors (user_id) where kind = 'totp';
create index factors_by_user on app.factors (user_id);

-- What a user is setting up, for 15 minutes: the secret of an app and recovery codes. Only the session that made it reads it.
create table app.factor_drafts (
  id         uuid primary key,
  user_id    uuid not null unique references app.users,
  session_id uuid not null references app.sessions on delete cascade,
  sealed     bytea not null check (length(sealed) <= 2048),
  expires_at timestamptz not null
);
create index factor_drafts_by_session on app.factor_drafts (session_id);
create index factor_drafts_by_expiry on app.factor_drafts (expires_at);

-- The challenges of passkeys that were used. Each is used once. It is logged, so that a crash does not make one good again.
create table app.used_challenges (
  key        app.hash primary key,
  expires_at timestamptz not null
);
create index used_challenges_by_expiry on app.used_challenges (expires_at);

-- No statistics: see app.tenants.
alter table app.factors
  alter column name set statistics 0,
  alter column witness_hash set statistics 0,
  alter column sealed_secret set statistics 0,
  alter column credential_id set statistics 0,
  alter column public_key set statistics 0;
alter table app.factor_drafts alter column sealed set statistics 0;
alter table app.used_challenges alter column key set statistics 0;

alter table app.factors enable row level security, force row level security;
create policy gate on app.factors to identity_gate using (true);
comment on policy gate on app.factors is 'checks and changes the factors of a user';
alter table app.factor_drafts enable row level security, force row level security;
create policy gate on app.factor_drafts to identity_gate using (true);
comment on policy gate on app.factor_drafts is 'keeps what a user is setting up';
alter table app.used_challenges enable row level security, force row level security;
create policy gate on app.used_challenges to identity_gate using (true);
comment on policy gate on app.used_challenges is 'uses a challenge once';
grant select, insert, delete on app.factors to identity_gate;
grant update (name, last_used_at, last_step, wrong_codes, sealed_secret, key_id, witness_hash, sign_count, backed_up) on app.factors to identity_gate;
grant select, insert, delete on app.factor_drafts, app.used_challenges to identity_gate;

-- Returns a limit on what a user does with a second factor, in a network or in all. Its key is made of a secret of the database, so that no
-- caller can delete the count.
create function app.factor_limit(p_user uuid, p_name text, p_most integer, p_seconds integer, p_network bytea default null)
  returns app.limit
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  as $$
begin
  return (select row(sha256(s.salt_key || sha256(convert_to('factor ' || p_name, 'UTF8') || uuid_send(p_user) || coalesce(p_network, ''))),
                     p_most, p_seconds)::app.limit from app.seal s);
end
$$;
comment on function app.factor_limit is 'callers: identity_gate';

-- Counts a code of a user's app against the limits of the user: in the network, and in a day over all networks that are not known to be
-- theirs. Returns the name of the limit that refuses it and the seconds until it may not, or nulls.
create function app.count_code(
    p_user uuid, p_network bytea, p_most integer, p_seconds integer, p_most_a_day integer,
    out refused_by text, out retry_after_seconds integer)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_all bytea := (app.factor_limit(p_user, 'all', 1, 1)).key;
  v_counted record;
begin
  v_counted := app.count_attempt(app.factor_limit(p_user, 'code', p_most, p_seconds, p_network), v_all);
  if not v_counted.allowed then
    refused_by := 'second-factor';
  elsif not app.is_known_network((select app.network_of(p_network, u.email) from app.users u where u.id = p_user)) then
    v_counted := app.count_attempt(app.factor_limit(p_user, 'day', p_most_a_day, 86400), v_all);
    if not v_counted.allowed then
      refused_by := 'second-factor-day';
    end if;
  end if;
  retry_after_seconds := case when refused_by is not null then v_counted.retry_after_seconds end;
end
$$;
comment on function app.count_code is 'callers: identity_gate';

-- Counts a wrong code of a user's app, and returns the app with its sealed secret and the database's time. A right code takes the count
-- back. Returns no row without an app, and after 200 wrong codes since the password was set.
create function app.show_app(p_user uuid)
  returns table (factor_id uuid, key_id uuid, sealed_secret bytea, last_step bigint, at bigint)
  language plpgsql rows 1
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
begin
  return query
    update app.factors f set wrong_codes = f.wrong_codes + 1
     where f.user_id = p_user and f.kind = 'totp' and f.wrong_codes < 200
    returning f.id, f.key_id, f.sealed_secret, f.last_step, floor(extract(epoch from clock_timestamp()))::bigint;
end
$$;
comment on function app.show_app is 'callers: identity_gate';

-- Accepts the code of a step of a user's app, once, and none of an earlier step after it. Returns whether it did. Raises TN500 for a witness
-- that is not the factor's.
create function app.accept_code(p_user uuid, p_factor uuid, p_step bigint, p_witness bytea) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  update app.factors f
     set last_step = p_step, wrong_codes = greatest(f.wrong_codes - 1, 0), last_used_at = now()
   where f.id = p_factor and f.user_id = p_user and f.kind = 'totp' and f.last_step < p_step and f.witness_hash = sha256(p_witness);
  if found then
    return true;
  end if;
  if exists (select from app.factors f
              where f.id = p_factor and f.user_id = p_user and (f.witness_hash = sha256(p_witness)) is not true) then
    raise exception 'a proof of a factor without its witness' using errcode = 'TN500';
  end if;
  return false;
end
$$;
comment on function app.accept_code is 'callers: identity_gate';

-- A verified assertion of a passkey. challenge_key is the hash of the challenge that it signed. Only code with the factor key can compute the
-- witness.
create type app.passkey_proof as (
  factor_id uuid, witness bytea, rp_id text, sign_count bigint, backup_eligible boolean, backed_up boolean,
  challenge_key bytea, challenge_expires_at timestamptz);

-- Uses the challenge of a passkey, once and before it expires. Returns whether it did.
create function app.use_challenge(p_key bytea, p_expires_at timestamptz) returns boolean
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  if (p_expires_at > clock_timestamp()) is not true then
    return false;
  end if;
  insert into app.used_challenges (key, expires_at) values (p_key, p_expires_at) on conflict do nothing;
  return found;
end
$$;
comment on function app.use_challenge is 'callers: identity_gate';

-- Accepts a passkey of a user, once for each challenge. The counter of a passkey that stays on one device must rise, unless the device does
-- not count; one that does not rise is refused, and mailed. Returns whether it accepted it. Raises TN500 for a witness that is not the
-- factor's.
create function app.accept_passkey(p_user uuid, p_proof app.passkey_proof) returns boolean
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_factor app.factors;
begin
  if not app.use_challenge(p_proof.challenge_key, p_proof.challenge_expires_at) then
    return false;
  end if;
  update app.factors f
     set sign_count = p_proof.sign_count, backed_up = p_proof.backed_up, last_used_at = now()
   where f.id = p_proof.factor_id and f.user_id = p_user and f.kind = 'passkey' and f.rp_id = p_proof.rp_id
     and f.witness_hash = sha256(p_proof.witness) and f.backup_eligible = p_proof.backup_eligible
     and (f.backup_eligible or p_proof.sign_count > f.sign_count or p_proof.sign_count = 0 and f.sign_count = 0);
  if found then
    return true;
  end if;
  select * into v_factor from app.factors f where f.id = p_proof.factor_id and f.user_id = p_user and f.kind = 'passkey';
  if found and (v_factor.witness_hash = sha256(p_proof.witness)) is not true then
    raise exception 'a proof of a factor without its witness' using errcode = 'TN500';
  end if;
  if found and not v_factor.backup_eligible and p_proof.sign_count <= v_factor.sign_count then
    perform app.mail_change(p_user, 'counter-back', 'counter back ' || v_factor.id || ' ' || (now() at time zone 'UTC')::date);
  end if;
  return false;
end
$$;
comment on function app.accept_passkey is 'callers: identity_gate';

-- Returns a passkey by its id, which an authenticator made at random. An attempt counts against the limit of the client's network: the row has
-- the name of the limit when that refuses it. Returns no row for an unknown id.
create function app.find_passkey(p_credential bytea, p_network_limit app.limit)
  returns table (refused_by text, retry_after_seconds integer,
                 user_id uuid, factor_id uuid, key_id uuid, public_key bytea, rp_id text)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  select 'second-factor-ip', c.retry_after_seconds into refused_by, retry_after_seconds
    from app.count_attempt(p_network_limit) c where not c.allowed;
  if refused_by is not null then
    return next;
    return;
  end if;
  return query
    select null, 0, f.user_id, f.id, f.key_id, f.public_key, f.rp_id
      from app.factors f where f.credential_id = p_credential;
end
$$;
comment on function app.find_passkey is
  'owner: identity_gate; proof: credential id; callers: identity_auth; definer: reads a factor before its user is known';

-- Uses a recovery code of a user, once. Returns whether it did. Audits it, and mails the user, who learns when few are left.
create function app.accept_recovery_code(p_user uuid, p_hash bytea, p_previous bytea, p_source app.source) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_left integer;
begin
  update app.tokens t set consumed_at = now(), expires_at = now()
   where t.token_hash in (p_hash, p_previous) and t.user_id = p_user and t.purpose = 'recovery_code'
     and t.consumed_at is null and t.expires_at > now();
  if not found then
    return false;
  end if;
  v_left := app.codes_left(p_user);
  perform app.audit_user(p_user, 'user.recovery_code_used', jsonb_build_object('codes_left', v_left), p_source);
  perform app.mail_change(p_user, case when v_left <= 3 then 'few-codes' else 'code-used' end);
  return true;
end
$$;
comment on function app.accept_recovery_code is 'callers: identity_gate';

-- Returns how many recovery codes of a user may still be used.
create function app.codes_left(p_user uuid) returns integer
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  as $$
begin
  return (select count(*) from app.tokens t
           where t.user_id = p_user and t.purpose = 'recovery_code' and t.consumed_at is null and t.expires_at > now());
end
$$;
comment on function app.codes_left is 'callers: identity_gate';

-- Returns by what a user may prove a second factor: `totp` unless 200 codes were wrong, `passkey`, `recovery_code`. Returns null for a user
-- without a factor.
create function app.methods_of(p_user uuid) returns text[]
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  as $$
begin
  if not exists (select from app.factors f where f.user_id = p_user) then
    return null;
  end if;
  return array_remove(array[
    case when exists (select from app.factors f where f.user_id = p_user and f.kind = 'totp' and f.wrong_codes < 200) then 'totp' end,
    case when exists (select from app.factors f where f.user_id = p_user and f.kind = 'passkey') then 'passkey' end,
    case when app.codes_left(p_user) > 0 then 'recovery_code' end], null);
end
$$;
comment on function app.methods_of is 'callers: identity_gate';

-- Records a change of a user in each of their tenants.
create function app.audit_user(p_user uuid, p_action text, p_after jsonb, p_source app.source) returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into app.audit_log (tenant_id, actor_user_id, action, target_type, target_id, after, request_id, client_request_id, ip_hash)
  select m.tenant_id, p_user, p_action, 'user', p_user, p_after, p_source.request_id, p_source.client_request_id,
         app.tenant_ip_hash(p_source.ip_hash, m.tenant_id)
    from app.memberships m where m.user_id = p_user and m.accepted_at is not null and m.revoked_at is null;
end
$$;
comment on function app.audit_user is 'callers: identity_gate';

-- Mails a user that something about their second factor changed. Later calls under one key add nothing.
create function app.mail_change(p_user uuid, p_change text, p_key text default gen_random_uuid()::text) returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform app.enqueue('mail', jsonb_build_object('template', 'second-factor', 'user_id', p_user, 'change', p_change), p_key);
end
$$;
comment on function app.mail_change is 'callers: identity_gate';

-- Voids the recovery codes of a user, and stores the hashes of others: in hex, with a comma between them.
create function app.replace_codes(p_user uuid, p_hashes text) returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  update app.tokens t set expires_at = now()
   where t.user_id = p_user and t.purpose = 'recovery_code' and t.consumed_at is null and t.expires_at > now();
  insert into app.tokens (token_hash, purpose, user_id, expires_at)
  select decode(h, 'hex'), 'recovery_code', p_user, 'infinity' from unnest(string_to_array(p_hashes, ',')) as h;
end
$$;
comment on function app.replace_codes is 'callers: identity_gate';

-- For the job `maintain`: deletes up to p_batch drafts and used challenges that expired a day ago, and returns how many.
create function app.delete_old_drafts(p_batch integer) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_drafts integer;
  v_challenges integer;
begin
  delete from app.factor_drafts where id = any (array(
    select d.id from app.factor_drafts d where d.expires_at < now() - interval '1 day' order by d.expires_at limit p_batch));
  get diagnostics v_drafts = row_count;
  delete from app.used_challenges where key = any (array(
    select c.key from app.used_challenges c where c.expires_at < now() - interval '1 day' order by c.expires_at limit p_batch - v_drafts));
  get diagnostics v_challenges = row_count;
  return v_drafts + v_challenges;
end
$$;
comment on function app.delete_old_drafts is
  'owner: identity_gate; proof: none; callers: identity_worker; definer: deletes from tables that no login reaches';

-- The class of each column (infra/data-classification.md).
comment on table app.factors is
  'secret: witness_hash, sealed_secret; personal: name, last_used_at, created_at, credential_id, public_key; linked: id, user_id; '
  'platform: kind, key_id, last_step, wrong_codes, algorithm, sign_count, transports, rp_id, aaguid, backup_eligible, backed_up; '
  'kept: until a person removes it';
comment on table app.factor_drafts is
  'secret: sealed; linked: id, user_id, session_id; platform: expires_at; '
  'kept: 1 day after its expiry, by app.delete_old_drafts';
comment on table app.used_challenges is
  'secret: key; platform: expires_at; '
  'kept: 1 day after its expiry, by app.delete_old_drafts';

select app.give(
  'app.factor_limit', 'app.count_code', 'app.show_app', 'app.accept_code', 'app.use_challenge', 'app.accept_passkey', 'app.find_passkey',
  'app.accept_recovery_code', 'app.codes_left', 'app.methods_of',
  'app.audit_user', 'app.mail_change', 'app.replace_codes', 'app.delete_old_drafts');
