-- Single-use tokens: invitations, password resets, email verifications, and the recovery and setup codes of second factors (0028).
-- The table has no tenant guard: the service finds a token by its hash before it knows the tenant. It stores no token. The
-- mailer derives the token from a nonce in its job and a key that the database never sees.
set local role identity_owner;

create table app.tokens (
  id          uuid not null default gen_random_uuid(),
  token_hash  app.hash primary key,
  purpose     text not null,
  user_id     uuid references app.users,
  tenant_id   uuid references app.tenants,
  email       app.email_address,
  role_id     integer,
  role_scope  uuid generated always as (
    case when role_id < 100 then '00000000-0000-0000-0000-000000000000'::uuid else tenant_id end) stored
    check (role_scope = coalesce(tenant_id, '00000000-0000-0000-0000-000000000000') or role_scope = '00000000-0000-0000-0000-000000000000'),
  invited_by  uuid default app.current_actor() references app.users,
  expires_at  timestamptz not null,
  consumed_at timestamptz,
  -- For a password reset, the time of the request: the mail may be sent later.
  created_at  timestamptz not null default now(),
  -- When the current token was issued: the id and created_at of an invitation outlive its tokens.
  issued_at   timestamptz not null default now(),
  -- The mail of an invitation came back for good, or was marked as spam. The invitation gets no more mail.
  bounced_at  timestamptz,
  -- Of the mail of an invitation, as the inviter chose it. Null: the inviter's own.
  language    text check (language in ('en', 'es')),
  constraint tokens_role foreign key (role_scope, role_id) references app.roles (scope, id),
  constraint tokens_id_key unique (id, tenant_id),
  constraint tokens_hold_what_their_purpose_needs check (
    case
      when purpose = 'invite' then tenant_id is not null and email is not null and role_id is not null
      when purpose in ('email_verify', 'password_reset', 'recovery_code', 'factor_setup', 'factor_reset_cancel') then user_id is not null and tenant_id is null and role_id is null
      else false
    end)
);
-- Without its condition on user_id, a plan that was made before there were statistics would search an invitation in all of this index.
create index tokens_open_by_user on app.tokens (user_id, purpose) where consumed_at is null and user_id is not null;
create index tokens_by_expiry on app.tokens (expires_at);

-- No statistics: see app.tenants.
alter table app.tokens
  alter column token_hash set statistics 0,
  alter column email set statistics 0;

-- Whoever changes it: a token is used once, and a link never lives longer than its mail says. A new hash is a new link.
create trigger tokens_stay_consumed before update of consumed_at on app.tokens
  for each row when (old.consumed_at is not null and new.consumed_at is distinct from old.consumed_at)
  execute function app.refuse_change('a consumed token stays consumed');
create trigger tokens_expire_in_time before update of expires_at on app.tokens
  for each row when (new.expires_at > old.expires_at and new.token_hash = old.token_hash)
  execute function app.refuse_change('a token does not get more time');

-- identity_gate finds a token by its hash, and issues the tokens that are no invitations for the mailer (app.mail_of_user). The policies of
-- invitations are in 0024.
alter table app.tokens enable row level security, force row level security;
create policy gate on app.tokens to identity_gate using (true);
comment on policy gate on app.tokens is 'finds an invitation by its token hash';

grant select, insert (token_hash, purpose, user_id, tenant_id, email, role_id, invited_by, expires_at, created_at, language),
  update (token_hash, role_id, invited_by, expires_at, consumed_at, issued_at, language), delete on app.tokens to identity_gate;

-- Returns whether a token with these values may still be consumed.
create function app.is_open_token(
    p_purpose text, p_user uuid, p_created_at timestamptz, p_consumed_at timestamptz, p_expires_at timestamptz)
  returns boolean
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  as $$
begin
  return p_consumed_at is null and p_expires_at > now()
         and (p_purpose <> 'password_reset'
              or p_created_at > (select u.resets_valid_from from app.users u where u.id = p_user));
end
$$;
comment on function app.is_open_token is 'callers: identity_gate';

-- The functions below and those of invitations (0024) run as identity_gate. The hash of a token is the proof, and no function returns a hash.
-- They take two hashes of a token, because the pepper may be rotating.

-- Verifies the address of an email verification, once. Returns whether the token is open, or was consumed before.
create function app.verify_email(p_token_hash bytea, p_previous bytea) returns boolean
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_user uuid;
begin
  update app.tokens t set consumed_at = now()
   where t.token_hash in (p_token_hash, p_previous) and t.purpose = 'email_verify'
     and app.is_open_token(t.purpose, t.user_id, t.created_at, t.consumed_at, t.expires_at)
  returning t.user_id into v_user;
  if found then
    update app.users u set email_verified_at = now() where u.id = v_user and u.email_verified_at is null;
    return true;
  end if;
  return exists (select from app.tokens t
                  where t.token_hash in (p_token_hash, p_previous) and t.purpose = 'email_verify' and t.consumed_at is not null);
end
$$;
comment on function app.verify_email is
  'owner: identity_gate; proof: token hash; callers: identity_auth; definer: finds a token by its hash, and writes its user';

-- Returns the address that an open email verification is for. Returns null for any other token.
create function app.find_verification(p_token_hash bytea, p_previous bytea) returns text
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  return (select u.email::text
            from app.tokens t join app.users u on u.id = t.user_id
           where t.token_hash in (p_token_hash, p_previous) and t.purpose = 'email_verify'
             and app.is_open_token(t.purpose, t.user_id, t.created_at, t.consumed_at, t.expires_at));
end
$$;
comment on function app.find_verification is
  'owner: identity_gate; proof: token hash; callers: identity_auth; definer: finds a token by its hash, and reads its user';

-- Returns the user of an open password reset, and the names of their tenants: the new password must not resemble them. Returns a
-- row of nulls when the token was consumed, and no row when it is not open or its user is disabled.
create function app.find_reset(p_token_hash bytea, p_previous bytea)
  returns table (consumed boolean, email text, full_name text, tenant_names text)
  language plpgsql stable security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select r.consumed_at is not null, u.email::text, u.full_name::text,
           (select string_agg(t.slug || e'\n' || t.legal_name, e'\n')
              from app.memberships m join app.tenants t on t.id = m.tenant_id and t.deleted_at is null
             where m.user_id = u.id and m.accepted_at is not null and m.revoked_at is null)
      from app.tokens r
      left join app.users u on u.id = r.user_id and u.disabled_at is null and r.consumed_at is null
     where r.token_hash in (p_token_hash, p_previous) and r.purpose = 'password_reset'
       and (r.consumed_at is not null
            or u.id is not null and app.is_open_token(r.purpose, r.user_id, r.created_at, r.consumed_at, r.expires_at));
end
$$;
comment on function app.find_reset is
  'owner: identity_gate; proof: token hash; callers: identity_auth; definer: finds a token by its hash, and reads its user';

-- Sets a password by a reset token, which it consumes. Also verifies the address, voids the other password resets requested so
-- far, ends every session and audits both. Returns the user; a null user when the token was consumed before; and no row when it
-- is not open or its user is disabled.
create function app.reset_password(
    p_token_hash bytea, p_previous bytea, p_password_hash text, p_source app.source)
  returns table (user_id uuid)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_user uuid;
  v_token app.tokens;
begin
  select t.user_id into v_user from app.tokens t
   where t.token_hash in (p_token_hash, p_previous) and t.purpose = 'password_reset';
  -- Tokens of one user are used one at a time. Lock the user before a row of theirs.
  perform app.lock_user(v_user);
  select * into v_token from app.tokens t
   where t.token_hash in (p_token_hash, p_previous) and t.purpose = 'password_reset' for update;
  if v_token.consumed_at is not null then
    return next;
    return;
  end if;
  if not found or not app.is_open_token('password_reset', v_user, v_token.created_at, v_token.consumed_at, v_token.expires_at) then
    return;
  end if;
  update app.users u
     set password_hash = p_password_hash, email_verified_at = coalesce(u.email_verified_at, now()),
         resets_valid_from = clock_timestamp()
   where u.id = v_user and u.disabled_at is null;
  if not found then
    return;
  end if;
  update app.tokens t set consumed_at = now() where t.token_hash = v_token.token_hash;
  perform app.record_new_password(v_user, null, 'user.password_reset', p_source);
  user_id := v_user;
  return next;
end
$$;
comment on function app.reset_password is
  'owner: identity_gate; proof: token hash; callers: identity_auth; '
  'definer: finds a token by its hash, and writes a password hash';

-- For the job `maintain`: deletes up to p_batch tokens that expired 30 days ago, and returns how many. The order makes Postgres read the index
-- by expiry.
create function app.delete_old_tokens(p_batch integer) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_deleted integer;
begin
  delete from app.tokens where id = any (array(
    select t.id from app.tokens t where t.expires_at < now() - interval '30 days' order by t.expires_at limit p_batch));
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;
comment on function app.delete_old_tokens is
  'owner: identity_gate; proof: none; callers: identity_worker; definer: deletes tokens of all tenants, which no login may';

-- The class of each column (infra/data-classification.md).
comment on table app.tokens is
  'secret: token_hash; personal: email; linked: id, user_id, invited_by; tenant: tenant_id, role_id, role_scope, language; '
  'platform: purpose, expires_at, consumed_at, created_at, issued_at, bounced_at; '
  'kept: 30 days after its expiry, by app.delete_old_tokens';

select app.give('app.is_open_token', 'app.verify_email', 'app.find_verification', 'app.find_reset', 'app.reset_password',
  'app.delete_old_tokens');
