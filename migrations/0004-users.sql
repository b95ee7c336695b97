-- Users, and their passwords. A user has one password for all tenants.
set local role identity_owner;

create table app.users (
  id                uuid primary key default gen_random_uuid(),
  email             app.email_address not null,
  email_verified_at timestamptz,
  password_hash     text,
  -- `PersonName` (shared/schema/name.ts) refuses more.
  full_name         app.one_line check (length(full_name) <= 60 and full_name !~ '@|[0-9]{7}|[^ ]{2}/|/[^ ]{2}'),
  avatar_url        text check (length(avatar_url) <= 2000),
  -- Of the mails to the user. `LANGUAGES` (shared/schema/language.ts) has the same.
  language          text not null default 'en' check (language in ('en', 'es')),
  last_login_at     timestamptz,
  created_at        timestamptz not null default now(),
  disabled_at       timestamptz,
  -- Password resets that were requested before are void: the password has changed since, or the user was disabled.
  resets_valid_from timestamptz not null default '-infinity',
  -- Mail to the address came back for good, or was marked as spam. It gets no more mail.
  bounced_at        timestamptz,
  constraint users_email_key unique (email)
) with (fillfactor = 90);

-- No statistics: see app.tenants.
alter table app.users
  alter column email set statistics 0,
  alter column password_hash set statistics 0,
  alter column full_name set statistics 0,
  alter column avatar_url set statistics 0,
  alter column language set statistics 0;

-- Whoever changes it: a password reset that is void stays void.
create trigger users_resets_stay_void before update of resets_valid_from on app.users
  for each row when (new.resets_valid_from < old.resets_valid_from)
  execute function app.refuse_change('a password reset that is void stays void');

-- Users belong to no tenant. Row security also keeps the columns of a user out of the error messages of functions that act for
-- others.
alter table app.users enable row level security, force row level security;
create policy operator_all on app.users to identity_operator using (true);
comment on policy operator_all on app.users is 'disables and enables users';
create policy resolver_read on app.users for select to identity_resolver using (true);
comment on policy resolver_read on app.users is 'reads whether a user is disabled';
create policy gate on app.users to identity_gate using (true);
comment on policy gate on app.users is 'finds the user of a session';

-- 0006 limits identity_app to the members of the transaction's tenant.
grant select (id, email, full_name, avatar_url, disabled_at) on app.users to identity_app;
grant select (id, email, full_name, disabled_at), update (disabled_at, resets_valid_from) on app.users to identity_operator;
grant select (id, disabled_at) on app.users to identity_resolver;
grant select, insert (email, full_name, password_hash, email_verified_at, language),
  update (password_hash, email_verified_at, language, last_login_at, resets_valid_from) on app.users to identity_gate;

-- No password hash leaves the database. The service computes the digest of the password that a client sends, and the database
-- compares it. The functions below run as identity_gate.

-- The costs of the password hashes that were ever stored. Every comparison derives once at each of them, so that neither its time nor a
-- salt tells who has an account, also after the cost was changed. The sum for a cheaper hash would not do: twice the memory takes more than
-- twice the time where it no longer fits into the cache of the processor. An owner may delete a cost when no hash of it is left.
create table app.password_costs (
  memory_kib integer not null check (memory_kib between 8 and 262144),
  iterations integer not null check (iterations between 1 and 16),
  primary key (memory_kib, iterations)
);
-- There is one before the first user.
insert into app.password_costs values (8, 1);
grant select, insert on app.password_costs to identity_gate;

-- Adds the cost of a new hash. The service computes no costlier hash than the constraints allow.
create function app.keep_cost() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_cost bigint[] := regexp_match(new.password_hash, '^[$]argon2id[$]v=19[$]m=([0-9]{1,6}),t=([0-9]{1,2}),p=1[$]');
begin
  if v_cost[1] between 8 and 262144 and v_cost[2] between 1 and 16 then
    insert into app.password_costs values (v_cost[1], v_cost[2]) on conflict do nothing;
  end if;
  return null;
end
$$;
comment on function app.keep_cost is 'callers: none';
create trigger users_keep_cost after insert or update of password_hash on app.users
  for each row when (new.password_hash is not null) execute function app.keep_cost();

-- Returns a user's password hash without its digest: the scheme, the cost and the salt. For an address without a password it
-- returns the highest cost and a salt that is the same each time. Also returns every cost, as pairs of memory in KiB and iterations.
create function app.password_salt(p_email text) returns table (salt text, costs jsonb)
  language plpgsql stable security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_hash text := '^[$]argon2id[$]v=19[$]m=[0-9]+,t=[0-9]+,p=1[$][A-Za-z0-9+/]+[$][A-Za-z0-9+/]+$';
  v_decoy text;
  v_stored text;
begin
  select jsonb_agg(jsonb_build_array(c.memory_kib, c.iterations) order by c.memory_kib::bigint * c.iterations desc, c.memory_kib)
    into costs from app.password_costs c;
  select format('$argon2id$v=19$m=%s,t=%s,p=1$', costs -> 0 ->> 0, costs -> 0 ->> 1) || rtrim(encode(substr(sha256(s.salt_key ||
           sha256(convert_to(lower(p_email collate "C"), 'UTF8'))), 1, 16), 'base64'), '=')
    into v_decoy from app.seal s;
  select u.password_hash into v_stored from app.users u where u.email = p_email;
  -- The same work for an address without a password. The digest has 43 characters, counted after the search: a count in a pattern
  -- costs ten times as much.
  v_stored := coalesce(v_stored, v_decoy || '$' || repeat('A', 43));
  salt := case when v_stored ~ v_hash and substr(v_stored, length(v_stored) - 43, 1) = '$' then left(v_stored, -44) else v_decoy end;
  return next;
end
$$;
comment on function app.password_salt is
  'owner: identity_gate; proof: none; callers: identity_auth; definer: reads password hashes, and returns cost and salt alone';

-- Counts a try of the password of the ticket's user, and returns what app.password_salt returns for their address. A limit that refuses the try
-- returns the seconds until it may not.
create function app.own_salt(p_ticket bytea, p_limit app.limit)
  returns table (salt text, costs jsonb, retry_after_seconds integer)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
declare
  v_ticket record := app.check_ticket(p_ticket, 'session');
  v_counted record := app.count_attempt(p_limit);
begin
  return query
    select s.salt, s.costs, case when not v_counted.allowed then v_counted.retry_after_seconds end
      from app.users u cross join lateral app.password_salt(u.email::text collate "default") s where u.id = v_ticket.user_id;
end
$$;
comment on function app.own_salt is
  'owner: identity_gate; proof: ticket; callers: identity_auth; definer: reads password hashes, and returns cost and salt alone';

-- Returns whether a digest is the one of a password hash, the last 43 characters of which are its digest. It compares hashes with
-- a random prefix, so its duration says nothing about the stored digest. It does the same work without a password hash.
create function app.is_digest_of(p_digest bytea, p_password_hash text) returns boolean
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_prefix bytea := uuid_send(gen_random_uuid());
  v_equal boolean := sha256(v_prefix || convert_to(right(coalesce(p_password_hash, ''), 43), 'UTF8'))
                   = sha256(v_prefix || convert_to(rtrim(encode(p_digest, 'base64'), '='), 'UTF8'));
begin
  return coalesce(v_equal and length(p_digest) = 32, false);
end
$$;
comment on function app.is_digest_of is 'callers: identity_gate';

-- Returns whether a digest is the one of the password of the ticket's user.
create function app.is_own_password(p_ticket bytea, p_digest bytea) returns boolean
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_ticket record := app.check_ticket(p_ticket, 'session');
begin
  return (select app.is_digest_of(p_digest, u.password_hash)
            from app.users u where u.id = v_ticket.user_id and u.disabled_at is null) is true;
end
$$;
comment on function app.is_own_password is
  'owner: identity_gate; proof: ticket, password digest; callers: identity_auth; '
  'definer: compares a digest with a password hash';

-- Replaces the password of the ticket's user, voids the password resets requested so far, ends every other session and audits
-- both. Returns false, and changes nothing, when the digest is not the one of the user's password. Raises TN401 when the
-- session is no longer live, and TN428 when a two-factor session has not stepped up in the last p_step_up_seconds.
create function app.change_password(
    p_ticket bytea, p_digest bytea, p_password_hash text, p_source app.source, p_step_up_seconds integer default null)
  returns boolean
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_ticket record := app.check_ticket(p_ticket, 'session');
begin
  perform app.enter_session(p_ticket, (
    select p_step_up_seconds from app.sessions s where s.id = v_ticket.session_id and s.second_factor_at is not null));
  update app.users u set password_hash = p_password_hash, resets_valid_from = clock_timestamp()
   where u.id = v_ticket.user_id and u.disabled_at is null and app.is_digest_of(p_digest, u.password_hash);
  if not found then
    return false;
  end if;
  perform app.record_new_password(
    v_ticket.user_id, v_ticket.session_id, 'user.password_changed', p_source);
  return true;
end
$$;
comment on function app.change_password is
  'owner: identity_gate; proof: ticket, password digest; callers: identity_auth; '
  'definer: writes a password hash, and audits it in every tenant of the user';

-- Changes the language of the ticket's user. Raises TN401 when the session is no longer live.
create function app.change_language(p_ticket bytea, p_language text) returns void
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_ticket record := app.check_ticket(p_ticket, 'session');
begin
  perform app.enter_session(p_ticket);
  update app.users u set language = p_language where u.id = v_ticket.user_id and u.disabled_at is null;
end
$$;
comment on function app.change_language is
  'owner: identity_gate; proof: ticket; callers: identity_auth; definer: writes a user, whom identity_auth may not read';

-- Stores a user's password at another cost. Does nothing unless the digest is the one of their password.
create function app.rehash_password(p_email text, p_digest bytea, p_password_hash text) returns void
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  update app.users u set password_hash = p_password_hash
   where u.email = p_email and u.disabled_at is null and app.is_digest_of(p_digest, u.password_hash);
end
$$;
comment on function app.rehash_password is
  'owner: identity_gate; proof: password digest; callers: identity_auth; definer: writes a password hash';

-- The class of each column (infra/data-classification.md).
comment on table app.password_costs is
  'platform: memory_kib, iterations; '
  'kept: until an owner deletes it';
comment on table app.users is
  'secret: password_hash; personal: email, email_verified_at, full_name, avatar_url, language, last_login_at, created_at, '
  'disabled_at, resets_valid_from, bounced_at; linked: id; '
  'kept: always, as the record of who did what';

select app.give(
  'app.keep_cost', 'app.password_salt', 'app.own_salt', 'app.is_digest_of', 'app.is_own_password', 'app.change_password', 'app.change_language',
  'app.rehash_password');
