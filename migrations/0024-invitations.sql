-- Invitations: whose they are, issuing, finding and accepting one. They are rows of app.tokens (0009). The functions run as
-- identity_gate. A ticket or the hash of a token is the proof. It has more than 300 lines, because a noun has one file.
set local role identity_owner;

-- An address has at most one open invitation to a tenant. Inviting it again replaces the hash in the same row.
create unique index tokens_one_open_invite on app.tokens (tenant_id, email) where purpose = 'invite' and consumed_at is null;
-- Only a list names its condition on role_id, which every invitation fulfils. Without it, a plan that was made while the table was small
-- would search an address in all invitations of the tenant by this index.
create index tokens_open_invites_by_age on app.tokens (tenant_id, created_at, id)
  where purpose = 'invite' and consumed_at is null and role_id is not null;
-- For app.remail_invitation, which alone has a condition on issued_at.
create index tokens_open_invites_by_address on app.tokens (email)
  where purpose = 'invite' and consumed_at is null and issued_at is not null;
-- A membership that was never accepted ends with its invitation, no matter who deletes that.
-- Postgres checks the rows that are there by a query. There are none.
set local row_security = on;
alter table app.memberships add foreign key (invitation_id, tenant_id) references app.tokens (id, tenant_id) on delete cascade;
set local row_security = off;

-- A tenant and an operator have the invitations of the set tenant alone, or could plant a password reset. A member changes one in
-- their own name, because a null inviter is the platform.
create policy app_invitations on app.tokens to identity_app
  using (purpose = 'invite' and tenant_id = (select app.current_tenant()))
  with check (purpose = 'invite' and tenant_id = (select app.current_tenant()) and invited_by is not distinct from (select app.current_actor())
              and (select current_setting('transaction_read_only')) = 'off');
create policy operator_invitations on app.tokens to identity_operator
  using (purpose = 'invite' and tenant_id = (select app.current_tenant()));
grant select (id, purpose, tenant_id, email, role_id, invited_by, expires_at, consumed_at, created_at, bounced_at), update (role_id)
  on app.tokens to identity_app;
grant select (id, purpose, tenant_id, email, consumed_at), update (token_hash, expires_at, issued_at) on app.tokens to identity_operator;

-- The open invitations of the transaction's tenant. Code that acts for a tenant reads tokens only through this view. It has
-- nothing of the user whom the address may belong to: a tenant must not learn whether there is one.
create view app.invitations with (security_invoker = true) as
select t.id, t.email, t.role_id, t.invited_by, t.created_at, t.expires_at, t.bounced_at
  from app.tokens t
 where t.purpose = 'invite' and t.consumed_at is null and t.role_id is not null and t.tenant_id = (select app.current_tenant());
grant select on app.invitations to identity_app;

-- Whoever changes the role of an invitation vouches for it. Null is the platform.
create function app.name_inviter() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  new.invited_by := app.current_actor();
  return new;
end
$$;
comment on function app.name_inviter is 'callers: none';
create trigger tokens_name_inviter before update of role_id on app.tokens
  for each row execute function app.name_inviter();

-- Nobody issues, renews, changes or cancels an invitation to a role that they may not give. A renewed one has a new inviter.
create trigger tokens_keep_within_reach before insert or update of role_id, invited_by on app.tokens
  for each row when (new.purpose = 'invite') execute function app.keep_within_reach();
create trigger tokens_cancel_within_reach before delete on app.tokens
  for each row when (old.purpose = 'invite') execute function app.keep_within_reach();

-- Stores an invitation of an address to the transaction's tenant, in the name of its actor, or replaces the token, the role and the
-- inviter of the open one for the address. If the address has a user who never accepted, also creates or changes their
-- membership. It runs the same statements for any address.
create function app.store_invitation(p_email text, p_role integer, p_token_hash bytea, p_ttl_seconds integer, p_language text default null)
  returns table (id uuid, created_at timestamptz, expires_at timestamptz, bounced_at timestamptz)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  -- As app.authenticate: one plan by indexes, also while a table is small.
  set enable_seqscan = off
  set plan_cache_mode = force_generic_plan
  as $$
#variable_conflict use_column
declare
  v_tenant uuid := app.required_tenant();
  v_actor uuid := app.current_actor();
begin
  insert into app.tokens as t (token_hash, purpose, tenant_id, email, role_id, invited_by, expires_at, language)
  values (p_token_hash, 'invite', v_tenant, p_email, p_role, v_actor, now() + make_interval(secs => p_ttl_seconds), p_language)
  on conflict (tenant_id, email) where purpose = 'invite' and consumed_at is null
  do update set token_hash = excluded.token_hash, role_id = excluded.role_id, invited_by = excluded.invited_by,
                expires_at = excluded.expires_at, issued_at = excluded.issued_at, language = coalesce(excluded.language, t.language)
  returning t.id, t.created_at, t.expires_at, t.bounced_at into id, created_at, expires_at, bounced_at;
  perform app.make_membership(v_tenant, u.id, p_role, case when v_actor is null then 'operator' else 'invitation' end, v_actor,
                              store_invitation.id)
     from app.users u where u.email = p_email;
  return next;
end
$$;
comment on function app.store_invitation is
  'owner: identity_gate; proof: scope; callers: identity_operator; definer: looks for a user of any tenant by an address';

-- Deletes an open invitation of the transaction's tenant, and with it the membership that waits for it. Returns whether there was one. No
-- login has DELETE on the table, which is also the right to lock it: then nobody could reset a password by a link.
create function app.delete_invitation(p_id uuid) returns boolean
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  delete from app.tokens t
   where t.id = p_id and t.tenant_id = app.required_tenant() and t.purpose = 'invite' and t.consumed_at is null;
  return found;
end
$$;
comment on function app.delete_invitation is
  'owner: identity_gate; proof: scope; callers: identity_app; definer: no login may delete tokens, and so lock their table';

-- Returns why the actor may not invite an address to a role, or may not renew the open invitation for it (p_role is null), and for how
-- long. Otherwise returns the role, and the open invitation as it spells the address. Requires the lock of the tenant.
create function app.examine_invitation(
    p_tenant uuid, p_actor uuid, p_email text, p_role text, p_resend_seconds integer,
    out refusal text, out wait_seconds integer, out open_id uuid, out open_email text, out role_id integer, out role text)
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_open_role integer;
  v_is_member boolean;
begin
  -- Not now(): this statement may have begun before the one that issued the invitation, and have waited for it.
  select i.id, i.email::text, i.role_id,
         greatest(0, ceil(extract(epoch from i.issued_at - clock_timestamp()) + p_resend_seconds)),
         exists (select from app.users u join app.memberships m on m.tenant_id = p_tenant and m.user_id = u.id
                  where u.email = p_email and m.accepted_at is not null and m.revoked_at is null)
    into open_id, open_email, v_open_role, wait_seconds, v_is_member
    from (select) as always
    left join app.tokens i on i.tenant_id = p_tenant and i.email = p_email and i.purpose = 'invite' and i.consumed_at is null;
  if p_role is null then
    select r.id, r.code into role_id, role from app.roles r where r.id = v_open_role;
  else
    select r.id, r.code into role_id, role from app.roles r
     where r.scope in (p_tenant, '00000000-0000-0000-0000-000000000000') and r.code = p_role and r.deleted_at is null;
  end if;
  refusal := case when p_role is null and open_id is null then 'no-invitation'
                  when role_id is null then 'no-role'
                  when not app.may_give(p_tenant, p_actor, role_id) then 'role-beyond'
                  when coalesce(v_open_role <> role_id, false) and not app.may_give(p_tenant, p_actor, v_open_role) then 'invitation-beyond'
                  when exists (select from app.tenants t where t.id = p_tenant and t.invitations_stopped_at is not null) then 'stopped'
                  when p_role is not null and v_is_member then 'already-member'
                  when wait_seconds > 0 then 'too-soon' end;
end
$$;
comment on function app.examine_invitation is 'callers: identity_gate';

-- Invites an address to the tenant of a ticket, in the name of its user, or replaces the token of the open invitation for the
-- address. Without p_role it renews an open invitation and keeps its role. Adds the mail and the audit entry. It runs the same
-- statements for any address, and does not say whether there is a user. A recipient who got enough mails today gets none: the job
-- is added and taken back.
-- Checks and locks the session, its permission and its step-up as every write does. Nobody gives or replaces a role that they may not give.
-- What it refuses counts against the limit of the tenant too, unless a limit refuses it, or the session has ended or may not invite. A mail
-- that the recipient does not get counts: otherwise its tenant could learn how many others have invited the recipient.
-- Returns why it refused, and for how long. Otherwise returns what the caller does not know of the invitation: its address, if an
-- open one spells it in another way.
create function app.issue_invitation(
    p_ticket bytea, p_email text, p_role text, p_token_hash bytea, p_nonce text, p_ttl_seconds integer, p_resend_seconds integer,
    p_of_tenant app.limit, p_of_recipient app.limit, p_source app.source, p_language text default null,
    p_step_up_seconds integer default null)
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
  v_payload jsonb;
  -- Before the lock of the tenant, so that what is over the limit keeps nobody waiting.
  v_counted record := app.count_attempt(p_of_tenant);
begin
  if not v_counted.allowed then
    refusal := 'tenant-limit';
    wait_seconds := v_counted.retry_after_seconds;
    return next;
    return;
  end if;
  select t.tenant_id, t.user_id into v_tenant, v_actor from app.check_ticket(p_ticket, 'session') t;
  perform app.enter_to_write(p_ticket, 'member.manage', true, p_step_up_seconds);
  select e.refusal, e.wait_seconds, e.open_id, e.open_email, e.role_id, e.role
    into refusal, wait_seconds, v_open, email, v_role, role
    from app.examine_invitation(v_tenant, v_actor, p_email, p_role, p_resend_seconds) e;
  if refusal is not null then
    if refusal = 'too-soon' then
      perform app.give_back_attempts(jsonb_build_array(jsonb_build_array(encode(p_of_tenant.key, 'hex'), v_counted.window_start)));
    end if;
    return next;
    return;
  end if;
  select s.id, s.created_at, s.expires_at, s.bounced_at into id, created_at, expires_at, bounced_at
    from app.store_invitation(p_email, v_role, p_token_hash, p_ttl_seconds, p_language) s;
  -- Counted in this transaction, so that only an invitation that commits counts.
  mailed := (app.count_attempt(p_of_recipient)).allowed;
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
          p_source.request_id, p_source.client_request_id, app.tenant_ip_hash(p_source.ip_hash, v_tenant));
  return next;
end
$$;
comment on function app.issue_invitation is
  'owner: identity_gate; proof: ticket; callers: identity_app; definer: looks for a user of any tenant by an address';

-- Mails the newest open invitation of an address that has no account, when somebody asked for a password reset for it: the job of a leased
-- mail. The invitation gets the token of p_nonce and a job of its own. Returns whether it did. Does nothing within p_resend_seconds of the
-- invitation, or over a limit. What the tenant sees of the invitation stays the same, or it would learn that there is no account.
create function app.remail_invitation(
    p_job uuid, p_lease_token uuid, p_token_hash bytea, p_nonce text, p_resend_seconds integer, p_of_mailbox app.limit,
    p_of_recipient app.limit)
  returns boolean
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  -- As app.authenticate: one plan by indexes, also while a table is small.
  set enable_seqscan = off
  set plan_cache_mode = force_generic_plan
  as $$
declare
  v_job record := app.leased_mail(p_job, p_lease_token);
  v_id uuid;
  v_tenant uuid;
begin
  if v_job.tenant_id is not null or v_job.payload ->> 'template' <> 'password-reset' then
    return false;
  end if;
  select i.id, i.tenant_id into v_id, v_tenant
    from app.tokens i
    join app.tenants t on t.id = i.tenant_id and t.deleted_at is null and app.is_open(t.status)
   where i.email = v_job.payload ->> 'email' and i.purpose = 'invite' and i.consumed_at is null and i.expires_at > now()
     and i.bounced_at is null and i.issued_at <= now() - make_interval(secs => p_resend_seconds)
     and not exists (select from app.users u where u.email = i.email)
   order by i.issued_at desc, i.id limit 1
     for no key update of i;
  -- Looks at the mailbox first, so that what it refuses does not use up the wider limit.
  if v_id is null or not (app.count_attempt(p_of_mailbox)).allowed or not (app.count_attempt(p_of_recipient)).allowed then
    return false;
  end if;
  update app.tokens t set token_hash = p_token_hash where t.id = v_id and t.tenant_id = v_tenant;
  perform app.set_tenant(v_tenant);
  perform app.enqueue('mail', jsonb_build_object('template', 'invitation', 'invitation_id', v_id, 'nonce', p_nonce));
  return true;
end
$$;
comment on function app.remail_invitation is
  'owner: identity_gate; proof: lease; callers: identity_mailer; definer: finds an invitation of any tenant by the address of a mail';

-- Returns the invitation of a token, open or accepted. Returns no row when its tenant is not open, or the user of the address is
-- disabled and has not accepted it. Also returns whether the user of the address is a member of the tenant now, and whether the tenant asks
-- the role for a second factor, now or later.
create function app.find_invitation(p_token_hash bytea, p_previous bytea)
  returns table (tenant_id uuid, slug text, legal_name text, role_code text, role_label text, email text, consumed boolean,
                 account_exists boolean, is_member boolean, inviter_name text, inviter_email text, second_factor_required boolean)
  language plpgsql stable security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select t.id, t.slug, t.legal_name::text, r.code, r.label::text, i.email::text, i.consumed_at is not null,
           u.id is not null,
           exists (select from app.memberships m
                    where m.tenant_id = t.id and m.user_id = u.id and m.accepted_at is not null and m.revoked_at is null),
           inviter.full_name::text, inviter.email::text,
           app.second_factor_from(t.second_factor_managers_from, t.second_factor_everyone_from, r.permissions) is not null
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

-- Locks the invitation of a token and returns it: open, or accepted before. Returns nulls when its tenant is not open, it expired, or its
-- inviter may no longer give the role. The platform (null) always may.
create function app.lock_invitation(p_token_hash bytea, p_previous bytea) returns app.tokens
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_tenant uuid;
  v_token app.tokens;
begin
  select t.tenant_id into v_tenant from app.tokens t where t.token_hash in (p_token_hash, p_previous) and t.purpose = 'invite';
  -- Every change of members locks the tenant before any other row.
  perform from app.tenants t where t.id = v_tenant and t.deleted_at is null and app.is_open(t.status) for no key update;
  if not found then
    return null;
  end if;
  -- Under the lock: a concurrent request may have accepted, cancelled or changed the invitation.
  select * into v_token from app.tokens t where t.token_hash in (p_token_hash, p_previous) and t.purpose = 'invite' for update;
  if v_token.consumed_at is null
     and ((v_token.expires_at > now()) is not true
          or v_token.invited_by is not null and not app.may_give(v_tenant, v_token.invited_by, v_token.role_id)) then
    return null;
  end if;
  return v_token;
end
$$;
comment on function app.lock_invitation is 'callers: identity_gate';

-- Accepts an invitation: consumes the token, creates a user with p_full_name, p_password_hash and p_language unless the address has one, and
-- makes them a live member. Audits it, and sets the tenant, so that the caller can add jobs. Returns the user, and whether it was
-- created; a null user when the invitation had been accepted; and no row when it cannot be accepted.
create function app.accept_invitation(
    p_token_hash bytea, p_previous bytea, p_full_name text, p_password_hash text, p_source app.source, p_language text default 'en')
  returns table (user_id uuid, account_created boolean)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_token app.tokens := app.lock_invitation(p_token_hash, p_previous);
  v_membership uuid;
begin
  if v_token.token_hash is null then
    return;
  end if;
  account_created := false;
  if v_token.consumed_at is not null then
    return next;
    return;
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
  v_membership := app.make_membership(v_token.tenant_id, user_id, v_token.role_id,
    case when v_token.invited_by is null then 'operator' else 'invitation' end, v_token.invited_by, null);
  insert into app.audit_log (tenant_id, actor_user_id, action, target_type, target_id, after, request_id, client_request_id, ip_hash)
  values (v_token.tenant_id, user_id, 'membership.accepted', 'membership', v_membership,
          jsonb_build_object('role', (select r.code from app.roles r where r.id = v_token.role_id)),
          p_source.request_id, p_source.client_request_id, app.tenant_ip_hash(p_source.ip_hash, v_token.tenant_id));
  perform app.set_tenant(v_token.tenant_id);
  return next;
end
$$;
comment on function app.accept_invitation is
  'owner: identity_gate; proof: token hash; callers: identity_auth; '
  'definer: finds a token by its hash, and creates a user and a membership';

select app.give(
  'app.name_inviter', 'app.store_invitation', 'app.delete_invitation', 'app.examine_invitation', 'app.issue_invitation',
  'app.remail_invitation', 'app.find_invitation', 'app.lock_invitation', 'app.accept_invitation');
