-- What a mail says, for the mailer that has leased its job. The mailer reads no table of users, tenants or tokens: a lease
-- returns the recipient of its own job alone, and no function returns a hash.
set local role identity_owner;

-- When the next email may be sent. All mailers share it, because SES limits the rate of the account.
create table app.mail_pace (next_at timestamptz not null);
insert into app.mail_pace values ('-infinity');
grant select, update on app.mail_pace to identity_mailer;

-- Returns the tenant, the payload and the time of a leased mail. Raises TN403 without a lease that has not ended.
create function app.leased_mail(p_job uuid, p_lease_token uuid)
  returns table (tenant_id uuid, payload jsonb, created_at timestamptz)
  language plpgsql stable rows 1
  set search_path = pg_catalog, pg_temp
  as $$
begin
  return query select j.tenant_id, j.payload::jsonb, j.created_at from app.jobs j
    where j.id = p_job and j.lease_token = p_lease_token and j.leased_until > now() and j.completed_at is null and j.kind = 'mail';
  if not found then
    raise exception 'no lease of a mail' using errcode = 'TN403';
  end if;
end
$$;
comment on function app.leased_mail is 'proof: lease; callers: identity_gate';

-- Returns the open invitation of a leased mail, with the place of its token in p_token_hashes. Returns no row when it was
-- accepted, cancelled or renewed, when its address is a disabled user's, when the invitations of its tenant are stopped, or when an
-- open invitation to the address, of any tenant, or mail to its user bounced, which it records. The platform may always invite.
-- The inviter is null when the platform invites, or when their address is not verified. The language is the one of the user of the
-- address, else the one that the inviter chose, else the inviter's own.
create function app.mail_of_invitation(p_job uuid, p_lease_token uuid, p_token_hashes bytea[])
  returns table (email text, token integer, expires_at timestamptz, expired boolean, slug text, legal_name text, timezone text, role text, role_code text,
                 inviter text, language text)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_bounced boolean;
begin
  select i.email, array_position(p_token_hashes, i.token_hash), i.expires_at, i.expires_at <= now(), t.slug, t.legal_name, t.timezone, r.label, r.code,
         case when n.email_verified_at is not null then n.email end, coalesce(invited.language, i.language, n.language, 'en'),
         i.bounced_at is not null or invited.bounced_at is not null
         or exists (select from app.tokens o where o.email = i.email and o.purpose = 'invite' and o.consumed_at is null
                                               and o.issued_at is not null and o.bounced_at is not null)
    into email, token, expires_at, expired, slug, legal_name, timezone, role, role_code, inviter, language, v_bounced
    from app.leased_mail(p_job, p_lease_token) j
    join app.tokens i on i.id = (j.payload ->> 'invitation_id')::uuid and i.tenant_id = j.tenant_id
    join app.tenants t on t.id = i.tenant_id
    join app.roles r on r.id = i.role_id
    left join app.users n on n.id = i.invited_by
    left join app.users invited on invited.email = i.email
   where j.payload ->> 'template' = 'invitation' and i.purpose = 'invite' and i.consumed_at is null
     and i.token_hash = any (p_token_hashes) and invited.disabled_at is null
     and (t.invitations_stopped_at is null or i.invited_by is null);
  if not found then
    return;
  elsif v_bounced and not expired then
    -- The tenant learns it from the list of its invitations, as if SES had reported it now.
    perform app.record_bounce(p_job, email, 'suppressed');
    return;
  end if;
  update app.jobs j set mailed_to = app.recipient_hash(p_job, email) where j.id = p_job and not expired;
  return next;
end
$$;
comment on function app.mail_of_invitation is
  'owner: identity_gate; proof: lease; callers: identity_mailer; definer: reads the recipient of a mail in any tenant';

-- Returns the user of a leased mail. For a mail with a token, also stores the first hash for the user, unless one of the hashes is
-- stored, and returns the place of the stored one. Returns no row when the user is disabled or their mail bounced, when a password
-- reset that was requested then is void, when the address is verified already, for a setup code when the user has a second factor, or when the
-- reset of one has ended. Returns none for the job of a tenant either: no
-- tenant asks for such a mail. The time zone is that of the first tenant that the user joined and has not left, or null.
create function app.mail_of_user(p_job uuid, p_lease_token uuid, p_token_hashes bytea[], p_ttl_seconds integer)
  returns table (email text, language text, full_name text, timezone text, token integer, expires_at timestamptz)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_job record := app.leased_mail(p_job, p_lease_token);
  v_purpose text := case v_job.payload ->> 'template' when 'password-reset' then 'password_reset' when 'email-verification' then 'email_verify'
                                                  when 'second-factor-setup' then 'factor_setup'
                                                  when 'second-factor-reset' then 'factor_reset_cancel' end;
  v_user app.users;
begin
  if v_job.tenant_id is not null then
    return;
  elsif v_job.payload ->> 'template' = 'password-reset' then
    select * into v_user from app.users u where u.email = v_job.payload ->> 'email' and u.resets_valid_from < v_job.created_at;
  elsif v_job.payload ->> 'template' in ('email-verification', 'password-changed', 'new-sign-in', 'second-factor', 'second-factor-setup',
                                           'second-factor-reset') then
    select * into v_user from app.users u
     where u.id = (v_job.payload ->> 'user_id')::uuid and case v_purpose when 'email_verify' then u.email_verified_at is null
                          when 'factor_setup' then not exists (select from app.factors f where f.user_id = u.id)
                          when 'factor_reset_cancel' then exists (
                            select from app.factor_resets r
                             where r.user_id = u.id and r.id = (v_job.payload ->> 'reset_id')::uuid and r.cancelled_at is null and r.done_at is null)
                          else true end;
  end if;
  if v_user.id is null or v_user.disabled_at is not null or v_user.bounced_at is not null then
    return;
  end if;
  email := v_user.email;
  language := v_user.language;
  full_name := v_user.full_name;
  timezone := (select t.timezone from app.memberships m join app.tenants t on t.id = m.tenant_id
                where m.user_id = v_user.id and m.accepted_at is not null and m.revoked_at is null and t.deleted_at is null
                order by m.accepted_at, m.id limit 1);
  if v_purpose is not null then
    if not exists (select from app.tokens t where t.token_hash = any (p_token_hashes)) then
      insert into app.tokens (token_hash, purpose, user_id, created_at, expires_at)
      values (p_token_hashes[1], v_purpose, v_user.id, v_job.created_at, now() + make_interval(secs => p_ttl_seconds))
      on conflict (token_hash) do nothing;
    end if;
    select array_position(p_token_hashes, t.token_hash), t.expires_at into strict token, expires_at
      from app.tokens t where t.token_hash = any (p_token_hashes) and t.purpose = v_purpose and t.user_id = v_user.id
     order by 1 limit 1;
  end if;
  return next;
end
$$;
comment on function app.mail_of_user is
  'owner: identity_gate; proof: lease; callers: identity_mailer; definer: reads the recipient of a mail, and stores a token';

-- Returns the membership of a leased mail, also a revoked one if the mail is of its end. The recipient is its user; of an accepted
-- invitation it is who invited them, while they are a member themselves. `member` is the address of the user. Returns no row when the
-- recipient is disabled or their mail bounced, and for a mail about the second factor when the tenant asks them for none or they have one.
create function app.mail_of_membership(p_job uuid, p_lease_token uuid)
  returns table (email text, language text, full_name text, slug text, legal_name text, timezone text, role text, role_code text, member text,
                 second_factor_from timestamptz)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select u.email::text, u.language, u.full_name::text, t.slug, t.legal_name::text, t.timezone, r.label::text, r.code::text, p.email::text, a.since
      from app.leased_mail(p_job, p_lease_token) j
      join app.memberships m on m.user_id = (j.payload ->> 'user_id')::uuid and m.tenant_id = j.tenant_id
      join app.users p on p.id = m.user_id
      left join app.memberships i on i.tenant_id = m.tenant_id and i.user_id = m.invited_by and i.accepted_at is not null and i.revoked_at is null
      join app.users u on u.id = case when j.payload ->> 'template' = 'invitation-accepted' then i.user_id else m.user_id end
       and u.disabled_at is null and u.bounced_at is null
      join app.tenants t on t.id = m.tenant_id
      join app.roles r on r.id = m.role_id
      left join lateral app.members_asked_for_a_factor(m.tenant_id, m.user_id) a on j.payload ->> 'template' = 'second-factor-required'
     where j.payload ->> 'template' in ('membership-added', 'membership-removed')
        or a.since is not null
        or j.payload ->> 'template' in ('role-changed', 'invitation-accepted') and m.accepted_at is not null and m.revoked_at is null;
end
$$;
comment on function app.mail_of_membership is
  'owner: identity_gate; proof: lease; callers: identity_mailer; definer: reads the recipient of a mail in any tenant';

-- Returns an ended membership of a leased mail, which names it and an owner of its tenant. The recipient is that owner; `member` is the
-- address of who left. Returns no row when the recipient is no owner any more, is disabled or their mail bounced, or for the job of another
-- tenant. The job of somebody who leaves has no tenant: they may act in another one.
create function app.mail_of_departure(p_job uuid, p_lease_token uuid)
  returns table (email text, language text, full_name text, slug text, legal_name text, timezone text, role text, role_code text, member text)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select u.email::text, u.language, u.full_name::text, t.slug, t.legal_name::text, t.timezone, r.label::text, r.code::text, p.email::text
      from app.leased_mail(p_job, p_lease_token) j
      join app.memberships m on m.id = (j.payload ->> 'membership_id')::uuid and m.revoked_at is not null
       and (j.tenant_id is null or m.tenant_id = j.tenant_id)
      join app.memberships o on o.user_id = (j.payload ->> 'user_id')::uuid and o.tenant_id = m.tenant_id
       and o.role_id = 1 and o.accepted_at is not null and o.revoked_at is null
      join app.users u on u.id = o.user_id and u.disabled_at is null and u.bounced_at is null
      join app.users p on p.id = m.user_id
      join app.tenants t on t.id = m.tenant_id
      join app.roles r on r.id = m.role_id
     where j.payload ->> 'template' = 'member-left';
end
$$;
comment on function app.mail_of_departure is
  'owner: identity_gate; proof: lease; callers: identity_mailer; definer: reads the recipient of a mail in any tenant';

-- The class of each column (infra/data-classification.md).
comment on table app.mail_pace is
  'platform: next_at; '
  'kept: always';

select app.give('app.leased_mail', 'app.mail_of_invitation', 'app.mail_of_user', 'app.mail_of_membership', 'app.mail_of_departure');
