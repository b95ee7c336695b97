-- Single-use tokens: invitations, password resets and email verifications.
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
  invited_by  uuid references app.users,
  expires_at  timestamptz not null,
  consumed_at timestamptz,
  -- For a password reset, the time of the request: the mail may be sent later.
  created_at  timestamptz not null default now(),
  -- When the current token was issued: the id and created_at of an invitation outlive its tokens.
  issued_at   timestamptz not null default now(),
  -- The mail of an invitation came back for good, or was marked as spam. The invitation gets no more mail.
  bounced_at  timestamptz,
  constraint tokens_role foreign key (role_scope, role_id) references app.roles (scope, id),
  constraint tokens_id_key unique (id, tenant_id),
  constraint tokens_hold_what_their_purpose_needs check (
    case
      when purpose = 'invite' then tenant_id is not null and email is not null and role_id is not null
      when purpose in ('email_verify', 'password_reset') then user_id is not null and tenant_id is null and role_id is null
      else false
    end)
);
create index tokens_open_by_user on app.tokens (user_id, purpose) where consumed_at is null;
create index tokens_by_expiry on app.tokens (expires_at);
-- An address has at most one open invitation to a tenant. Inviting it again replaces the hash in the same row.
create unique index tokens_one_open_invite on app.tokens (tenant_id, email) where purpose = 'invite' and consumed_at is null;
-- Only a list names its condition on role_id, which every invitation fulfils. Without it, a plan that was made while the table was small
-- would search an address in all invitations of the tenant by this index.
create index tokens_open_invites_by_age on app.tokens (tenant_id, created_at, id)
  where purpose = 'invite' and consumed_at is null and role_id is not null;

-- A membership that was never accepted ends with its invitation, no matter who deletes that.
alter table app.memberships add foreign key (invitation_id, tenant_id) references app.tokens (id, tenant_id) on delete cascade;

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

-- A tenant and an operator have the invitations of the set tenant alone, or could plant a password reset. A member changes one in
-- their own name, because a null inviter is the platform. identity_gate finds a token by its hash, and issues the other tokens for
-- the mailer (app.mail_of_user).
alter table app.tokens enable row level security, force row level security;
create policy app_invitations on app.tokens to identity_app
  using (purpose = 'invite' and tenant_id = (select app.current_tenant()))
  with check (purpose = 'invite' and tenant_id = (select app.current_tenant()) and invited_by is not distinct from (select app.current_actor()));
create policy worker_expired on app.tokens to identity_worker using (expires_at < now());
create policy gate on app.tokens to identity_gate using (true);
create policy operator_invitations on app.tokens to identity_operator
  using (purpose = 'invite' and tenant_id = (select app.current_tenant()));

grant select (id, purpose, tenant_id, email, role_id, invited_by, expires_at, consumed_at, created_at, bounced_at), delete,
  update (role_id, invited_by) on app.tokens to identity_app;
grant select, insert (token_hash, purpose, user_id, tenant_id, email, role_id, invited_by, expires_at, created_at),
  update (token_hash, role_id, invited_by, expires_at, consumed_at, issued_at) on app.tokens to identity_gate;
grant select (id, expires_at), delete on app.tokens to identity_worker;
grant select (id, purpose, tenant_id, email, consumed_at), insert (token_hash, purpose, user_id, tenant_id, email, role_id, expires_at),
  update (token_hash, role_id, invited_by, expires_at, issued_at) on app.tokens to identity_operator;

-- The open invitations of the transaction's tenant. Code that acts for a tenant reads tokens only through this view. It has
-- nothing of the user whom the address may belong to: a tenant must not learn whether there is one.
create view app.invitations with (security_invoker = true) as
select t.id, t.email, t.role_id, t.invited_by, t.created_at, t.expires_at, t.bounced_at
  from app.tokens t
 where t.purpose = 'invite' and t.consumed_at is null and t.role_id is not null and t.tenant_id = (select app.current_tenant());
grant select on app.invitations to identity_app;

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
revoke all on function app.is_open_token(text, uuid, timestamptz, timestamptz, timestamptz) from public;
grant execute on function app.is_open_token(text, uuid, timestamptz, timestamptz, timestamptz) to identity_gate;

-- The functions below run as identity_gate. A ticket or the hash of a token is the proof, and no function returns a hash. Those that
-- find a token take two hashes of it, because the pepper may be rotating.

-- Invites an address to the tenant of a ticket, in the name of its user, or replaces the token of the open invitation for the
-- address. Without p_role it renews an open invitation and keeps its role. Adds the mail and the audit entry. If the address has a user
-- who never accepted, also creates or changes their membership. It runs the same statements for any address, and does not say whether
-- there is a user. A recipient who got enough mails today gets none: the job is added and taken back.
-- Checks and locks the session and its permission as every write does. Nobody gives a role above their own, or replaces one.
-- What it refuses counts against the limit of the tenant too, unless the session has ended or may not invite, or the limit is reached.
-- Returns why it refused, and for how long. Otherwise returns what the caller does not know of the invitation: its address, if an
-- open one spells it in another way.
create function app.issue_invitation(
    p_ticket bytea, p_email text, p_role text, p_token_hash bytea, p_ttl_seconds integer, p_resend_seconds integer, p_nonce text,
    p_tenant_key bytea, p_tenant_limit integer, p_tenant_seconds integer,
    p_recipient_key bytea, p_recipient_limit integer, p_recipient_seconds integer,
    p_request_id text, p_client_request_id text, p_ip_hash bytea)
  returns table (refusal text, wait_seconds integer, mailed boolean, id uuid, email text, role text, created_at timestamptz,
                 expires_at timestamptz, bounced_at timestamptz)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  -- As app.authenticate: one plan by indexes, also while a table is small.
  set enable_seqscan = off
  set plan_cache_mode = force_generic_plan
  as $$
#variable_conflict use_column
declare
  v_tenant uuid;
  v_actor uuid;
  v_open uuid;
  v_role integer;
  v_rank integer;
  v_open_rank integer;
  v_own_rank integer;
  v_is_member boolean;
  v_payload jsonb;
  v_allowed boolean;
begin
  -- Before the lock of the tenant, so that what is over the limit keeps nobody waiting.
  select c.allowed, c.retry_after_seconds into v_allowed, wait_seconds
    from app.count_attempt(p_tenant_key, p_tenant_limit, p_tenant_seconds, null) c;
  if not v_allowed then
    refusal := 'tenant-limit';
    return next;
    return;
  end if;
  perform app.enter_to_write(p_ticket, 'member.manage', true);
  v_tenant := encode(substr(p_ticket, 1, 16), 'hex');
  v_actor := encode(substr(p_ticket, 17, 16), 'hex');
  -- Not now(): this statement may have begun before the one that issued the invitation, and have waited for it.
  select i.id, i.email::text, i.role_id, (select r.rank from app.roles r where r.id = i.role_id),
         greatest(0, ceil(extract(epoch from i.issued_at - clock_timestamp()) + p_resend_seconds)),
         (select r.rank from app.roles r
           where r.id = (select o.role_id from app.memberships o where o.tenant_id = v_tenant and o.user_id = v_actor)),
         exists (select from app.users u join app.memberships m on m.tenant_id = v_tenant and m.user_id = u.id
                  where u.email = p_email and m.accepted_at is not null and m.revoked_at is null)
    into v_open, email, v_role, v_open_rank, wait_seconds, v_own_rank, v_is_member
    from (select) as always
    left join app.tokens i on i.tenant_id = v_tenant and i.email = p_email and i.purpose = 'invite' and i.consumed_at is null;
  if p_role is null then
    select r.code, r.rank into role, v_rank from app.roles r where r.id = v_role;
  else
    select r.id, r.code, r.rank into v_role, role, v_rank from app.roles r
     where r.scope in (v_tenant, '00000000-0000-0000-0000-000000000000') and r.code = p_role and r.deleted_at is null;
  end if;
  refusal := case when p_role is null and v_open is null then 'no-invitation'
                  when v_role is null then 'no-role'
                  when (v_rank <= v_own_rank) is not true then 'role-outranks'
                  when v_open_rank > v_own_rank then 'invitation-outranks'
                  when p_role is not null and v_is_member then 'already-member'
                  when wait_seconds > 0 then 'too-soon' end;
  if refusal is not null then
    return next;
    return;
  end if;
  insert into app.tokens as t (token_hash, purpose, tenant_id, email, role_id, invited_by, expires_at)
  values (p_token_hash, 'invite', v_tenant, p_email, v_role, v_actor, now() + make_interval(secs => p_ttl_seconds))
  on conflict (tenant_id, email) where purpose = 'invite' and consumed_at is null
  do update set token_hash = excluded.token_hash, role_id = excluded.role_id, invited_by = excluded.invited_by,
                expires_at = excluded.expires_at, issued_at = excluded.issued_at
  returning t.id, t.created_at, t.expires_at, t.bounced_at into id, created_at, expires_at, bounced_at;
  insert into app.memberships as m (tenant_id, user_id, role_id, invited_by, invitation_id)
  select v_tenant, u.id, v_role, v_actor, issue_invitation.id from app.users u where u.email = p_email
  on conflict (tenant_id, user_id) do update
    set role_id = excluded.role_id, invited_by = excluded.invited_by, invitation_id = excluded.invitation_id, revoked_at = null
    where m.accepted_at is null;
  -- Counted in this transaction, so that only an invitation that commits counts.
  select c.allowed into mailed from app.count_attempt(p_recipient_key, p_recipient_limit, p_recipient_seconds, null) c;
  v_payload := jsonb_build_object('template', 'invitation', 'invitation_id', id, 'nonce', p_nonce);
  if mailed then
    perform app.enqueue('mail', v_payload);
  else
    perform app.rehearse_enqueue('mail', v_payload);
  end if;
  insert into app.audit_log (tenant_id, actor_user_id, action, target_type, target_id, after, request_id, client_request_id, ip_hash)
  values (v_tenant, v_actor,
          case when p_role is null then 'invitation.resent' when v_open is null then 'invitation.created' else 'invitation.replaced' end,
          'invitation', id, case when p_role is not null then jsonb_build_object('email', coalesce(email, p_email), 'role', role) end,
          p_request_id, p_client_request_id, app.tenant_ip_hash(p_ip_hash, v_tenant));
  return next;
end
$$;

-- Returns people of a ticket's tenant, oldest first: members, former members, and who has an open invitation. An invited
-- person has no user here: a tenant must not learn whether there is one. p_pattern searches the address and the name.
-- A query of a tenant's role would prove for each user that they are a member. Here the join with the memberships is the proof.
-- It sets no tenant: nothing else runs in its transaction. Times are text, because the service sends them as text.
create function app.list_members(
    p_ticket bytea, p_active boolean, p_revoked boolean, p_invited boolean, p_pattern text, p_after timestamptz, p_after_id uuid,
    p_most integer)
  returns table (id uuid, user_id uuid, email text, full_name text, avatar_url text, disabled boolean,
                 role_id integer, role_code text, role_label text, role_rank integer, invited_by uuid,
                 accepted_at text, revoked_at text, created_at text)
  language plpgsql stable security definer rows 50
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  -- One plan, which reads memberships and invitations in the order of the page, and the users of the page by their key. It expects
  -- few hits of a search, and would else search all users first, also for a page without a search.
  set plan_cache_mode = force_generic_plan
  set enable_sort = off
  set enable_bitmapscan = off
  set enable_material = off
  as $$
declare
  v_tenant uuid;
begin
  select t.tenant_id into v_tenant from app.check_ticket(p_ticket) t;
  if v_tenant is null then
    raise exception 'the list of members needs a ticket with a tenant' using errcode = 'TN500';
  end if;
  return query
    select l.id, l.user_id, l.email, l.full_name, l.avatar_url, l.disabled, l.role_id, l.code, l.label, l.rank, l.invited_by,
           l.accepted_at::text, l.revoked_at::text, l.created_at::text
      from ((select m.id, u.id as user_id, u.email::text, u.full_name::text, u.avatar_url, u.disabled_at is not null as disabled,
                    r.id as role_id, r.code, r.label::text, r.rank, m.invited_by, m.accepted_at, m.revoked_at, m.created_at
               from app.memberships m
               join app.users u on u.id = m.user_id
               join app.roles r on r.id = m.role_id
              where m.tenant_id = v_tenant and m.accepted_at is not null
                and case when m.revoked_at is null then p_active else p_revoked end
                and (m.created_at, m.id) > (p_after, p_after_id)
                and (p_pattern is null or lower(u.email collate "C") like p_pattern or lower(u.full_name) like p_pattern)
              order by m.created_at, m.id
              limit p_most)
            union all
            (select i.id, null, i.email::text, null, null, false,
                    r.id, r.code, r.label::text, r.rank, i.invited_by, null, null, i.created_at
               from app.tokens i
               join app.roles r on r.id = i.role_id
              where p_invited and i.tenant_id = v_tenant and i.purpose = 'invite' and i.consumed_at is null and i.role_id is not null
                and (i.created_at, i.id) > (p_after, p_after_id)
                and (p_pattern is null or lower(i.email collate "C") like p_pattern)
              order by i.created_at, i.id
              limit p_most)) l
     order by l.created_at, l.id
     limit p_most;
end
$$;

-- Returns the invitation of a token, open or accepted. Returns no row when its tenant is not open, or the user of the address is
-- disabled and has not accepted it.
create function app.find_invitation(p_token_hash bytea, p_previous bytea)
  returns table (tenant_id uuid, slug text, legal_name text, role_code text, role_label text, email text, consumed boolean,
                 account_exists boolean, inviter_name text, inviter_email text)
  language plpgsql stable security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select t.id, t.slug, t.legal_name::text, r.code, r.label::text, i.email::text, i.consumed_at is not null,
           u.id is not null, inviter.full_name::text, inviter.email::text
      from app.tokens i
      join app.tenants t on t.id = i.tenant_id and t.deleted_at is null and app.is_open(t.status)
      join app.roles r on r.id = i.role_id
      left join app.users u on u.email = i.email
      left join app.users inviter on inviter.id = i.invited_by and inviter.email_verified_at is not null
     where i.token_hash in (p_token_hash, p_previous) and i.purpose = 'invite'
       and (i.consumed_at is not null or i.expires_at > now() and u.disabled_at is null);
end
$$;

-- Accepts an invitation: consumes the token, creates a user with p_full_name, p_password_hash and p_language unless the address has one, and
-- makes them a live member. Audits it, and sets the tenant, so that the caller can add jobs. Returns the user, and whether it was
-- created; a null user when the invitation had been accepted; and no row when it cannot be accepted.
-- A live member keeps their role, unless the platform invites: that is how a tenant without an owner gets one.
create function app.accept_invitation(
    p_token_hash bytea, p_previous bytea, p_full_name text, p_password_hash text,
    p_request_id text, p_client_request_id text, p_ip_hash bytea, p_language text default 'en')
  returns table (user_id uuid, account_created boolean)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_tenant uuid;
  v_token app.tokens;
  v_membership uuid;
begin
  select t.tenant_id into v_tenant from app.tokens t where t.token_hash in (p_token_hash, p_previous) and t.purpose = 'invite';
  -- Every change of members locks the tenant before any other row.
  perform from app.tenants t where t.id = v_tenant and t.deleted_at is null and app.is_open(t.status) for no key update;
  if not found then
    return;
  end if;
  -- Under the lock: a concurrent request may have accepted, cancelled or changed the invitation.
  select * into v_token from app.tokens t where t.token_hash in (p_token_hash, p_previous) and t.purpose = 'invite' for update;
  account_created := false;
  if v_token.consumed_at is not null then
    return next;
    return;
  end if;
  if (v_token.expires_at > now()) is not true then
    return;
  end if;
  -- The inviter must still be allowed to give the role. The platform (null) always may.
  if v_token.invited_by is not null then
    perform from app.memberships m
      join app.users u on u.id = m.user_id and u.disabled_at is null
      join app.roles r on r.id = m.role_id
     where m.tenant_id = v_tenant and m.user_id = v_token.invited_by and m.accepted_at is not null and m.revoked_at is null
       and r.rank >= (select n.rank from app.roles n where n.id = v_token.role_id)
       and r.permissions ?| array['member.manage', '*']
       for share of m;
    if not found then
      return;
    end if;
  end if;
  insert into app.users as u (email, full_name, password_hash, email_verified_at, language)
  select v_token.email, p_full_name, p_password_hash, now(), p_language where p_password_hash is not null
  on conflict (email) do nothing returning u.id into user_id;
  account_created := user_id is not null;
  if user_id is null then
    -- FOR NO KEY UPDATE, so that nobody disables the user before the commit.
    select u.id into user_id from app.users u where u.email = v_token.email and u.disabled_at is null for no key update;
  end if;
  if user_id is null then
    return;
  end if;
  update app.tokens t set consumed_at = now() where t.token_hash = v_token.token_hash;
  insert into app.memberships as m (tenant_id, user_id, role_id, invited_by, accepted_at)
  values (v_tenant, accept_invitation.user_id, v_token.role_id, v_token.invited_by, now())
  on conflict on constraint memberships_one_per_person do update
    set role_id = case when m.accepted_at is null or m.revoked_at is not null or excluded.invited_by is null
                       then excluded.role_id else m.role_id end,
        invited_by = excluded.invited_by, invitation_id = null, revoked_at = null,
        accepted_at = case when m.accepted_at is null or m.revoked_at is not null
                           then excluded.accepted_at else m.accepted_at end,
        -- As for a user that the acceptance creates: the time must not tell who had an account before.
        created_at = case when m.accepted_at is null then excluded.created_at else m.created_at end
  returning m.id into v_membership;
  insert into app.audit_log (tenant_id, actor_user_id, action, target_type, target_id, after, request_id, client_request_id, ip_hash)
  values (v_tenant, user_id, 'membership.accepted', 'membership', v_membership,
          jsonb_build_object('role', (select r.code from app.roles r where r.id = v_token.role_id)),
          p_request_id, p_client_request_id, app.tenant_ip_hash(p_ip_hash, v_tenant));
  perform app.set_tenant(v_tenant);
  return next;
end
$$;

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

-- Sets a password by a reset token, which it consumes. Also verifies the address, voids the other password resets requested so
-- far, ends every session and audits both. Returns the user; a null user when the token was consumed before; and no row when it
-- is not open or its user is disabled.
create function app.reset_password(
    p_token_hash bytea, p_previous bytea, p_password_hash text, p_request_id text, p_client_request_id text, p_ip_hash bytea)
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
  perform app.record_new_password(v_user, null, 'user.password_reset', p_request_id, p_client_request_id, p_ip_hash);
  user_id := v_user;
  return next;
end
$$;

revoke all on function app.issue_invitation(bytea, text, text, bytea, integer, integer, text, bytea, integer, integer, bytea, integer, integer, text, text, bytea),
  app.list_members(bytea, boolean, boolean, boolean, text, timestamptz, uuid, integer), app.find_invitation(bytea, bytea),
  app.accept_invitation(bytea, bytea, text, text, text, text, bytea, text), app.verify_email(bytea, bytea),
  app.find_reset(bytea, bytea), app.reset_password(bytea, bytea, text, text, text, bytea) from public;
grant execute on function app.issue_invitation(bytea, text, text, bytea, integer, integer, text, bytea, integer, integer, bytea, integer, integer, text, text, bytea),
  app.list_members(bytea, boolean, boolean, boolean, text, timestamptz, uuid, integer) to identity_app;
grant execute on function app.find_invitation(bytea, bytea),
  app.accept_invitation(bytea, bytea, text, text, text, text, bytea, text), app.verify_email(bytea, bytea),
  app.find_reset(bytea, bytea), app.reset_password(bytea, bytea, text, text, text, bytea) to identity_auth;
grant create on schema app to identity_gate;
alter function app.issue_invitation(bytea, text, text, bytea, integer, integer, text, bytea, integer, integer, bytea, integer, integer, text, text, bytea) owner to identity_gate;
alter function app.list_members(bytea, boolean, boolean, boolean, text, timestamptz, uuid, integer) owner to identity_gate;
alter function app.find_invitation(bytea, bytea) owner to identity_gate;
alter function app.accept_invitation(bytea, bytea, text, text, text, text, bytea, text) owner to identity_gate;
alter function app.verify_email(bytea, bytea) owner to identity_gate;
alter function app.find_reset(bytea, bytea) owner to identity_gate;
alter function app.reset_password(bytea, bytea, text, text, text, bytea) owner to identity_gate;
revoke create on schema app from identity_gate;

-- The class of each column (infra/data-classification.md).
comment on table app.tokens is
  'secret: token_hash; personal: email; linked: id, user_id, invited_by; tenant: tenant_id, role_id, role_scope; '
  'platform: purpose, expires_at, consumed_at, created_at, issued_at, bounced_at';
