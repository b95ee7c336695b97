-- Invitations: issuing, finding and accepting one, and the list of members, which has the open ones. The functions run as identity_gate.
-- A ticket or the hash of a token (0009) is the proof.
set local role identity_owner;

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
  select t.tenant_id, t.user_id into v_tenant, v_actor from app.check_ticket(p_ticket, 'session') t;
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
comment on function app.issue_invitation is
  'owner: identity_gate; proof: ticket; callers: identity_app; definer: looks for a user of any tenant by an address';

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
  select t.tenant_id into v_tenant from app.check_ticket(p_ticket, 'session') t;
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
comment on function app.list_members is
  'owner: identity_gate; proof: ticket; callers: identity_app; '
  'definer: reads the users of a tenant without a proof for each row';

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
comment on function app.find_invitation is
  'owner: identity_gate; proof: token hash; callers: identity_auth; '
  'definer: finds a token by its hash before a tenant is known';

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
comment on function app.accept_invitation is
  'owner: identity_gate; proof: token hash; callers: identity_auth; '
  'definer: finds a token by its hash, and creates a user and a membership';

select app.give('app.issue_invitation', 'app.list_members', 'app.find_invitation', 'app.accept_invitation');
