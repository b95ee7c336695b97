-- Resets of second factors, for a person who lost the phone and the recovery codes. A manager of the person's only tenant vouches for them, or
-- an operator does. The reset takes effect hours later, unless somebody who is the person cancels it: by the link of the mail, or by a proof of
-- the factor. With the factors goes the password, so that the way back is the mailbox of the account.
-- It has more than 300 lines, because a noun has one file.
set local role identity_owner;

create table app.factor_resets (
  id           uuid primary key default gen_random_uuid(),
  user_id      uuid not null references app.users,
  -- The manager who vouches. Null: an operator requested or confirmed it.
  requested_by uuid references app.users,
  requested_at timestamptz not null default now(),
  -- Null: it waits for an operator.
  effective_at timestamptz,
  cancelled_at timestamptz,
  done_at      timestamptz,
  constraint factor_resets_end_once check (cancelled_at is null or done_at is null)
);
create unique index factor_resets_one_open on app.factor_resets (user_id) where cancelled_at is null and done_at is null;
create index factor_resets_ended on app.factor_resets (coalesce(cancelled_at, done_at)) where cancelled_at is not null or done_at is not null;

alter table app.factor_resets enable row level security, force row level security;
create policy gate on app.factor_resets to identity_gate using (true);
comment on policy gate on app.factor_resets is 'requests, cancels and runs the resets of a user';
grant select, insert (user_id, requested_by, effective_at), update (requested_by, effective_at, cancelled_at, done_at), delete
  on app.factor_resets to identity_gate;

-- Returns whether a manager alone may vouch for a user: the user has one membership, and the manager may give its role. A person in a second
-- tenant is not for one of them to judge.
create function app.may_vouch(p_manager uuid, p_user uuid) returns boolean
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_tenants uuid[];
  v_roles integer[];
begin
  select array_agg(m.tenant_id), array_agg(m.role_id) into v_tenants, v_roles
    from app.memberships m join app.tenants t on t.id = m.tenant_id and t.deleted_at is null
   where m.user_id = p_user and m.accepted_at is not null and m.revoked_at is null;
  return coalesce(cardinality(v_tenants) = 1 and app.may_give(v_tenants[1], p_manager, v_roles[1]), false);
end
$$;
comment on function app.may_vouch is 'callers: identity_gate';

-- Records what happened to a reset in each tenant of its user. The tenant where it was requested alone learns who did, and from where.
create function app.audit_reset(p_user uuid, p_action text, p_after jsonb, p_source app.source, p_tenant uuid default null, p_actor uuid default null)
  returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into app.audit_log (tenant_id, actor_user_id, action, target_type, target_id, after, request_id, client_request_id, ip_hash)
  select m.tenant_id, case when m.tenant_id = p_tenant then p_actor end, p_action, 'user', p_user, p_after, p_source.request_id,
         case when m.tenant_id = p_tenant then p_source.client_request_id end,
         case when m.tenant_id = p_tenant then app.tenant_ip_hash(p_source.ip_hash, m.tenant_id) end
    from app.memberships m where m.user_id = p_user and m.accepted_at is not null and m.revoked_at is null;
end
$$;
comment on function app.audit_reset is 'callers: identity_gate';

-- Mails the user of an open reset a link that cancels it, and adds the job that runs it at its time. Requires that no tenant is set: the mail
-- and the job are the platform's.
create function app.announce_reset(p_reset app.factor_resets) returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform app.enqueue('mail', jsonb_build_object(
    'template', 'second-factor-reset', 'user_id', p_reset.user_id, 'reset_id', p_reset.id, 'nonce', gen_random_uuid(),
    'effective_at', p_reset.effective_at));
  if p_reset.effective_at is not null then
    perform app.enqueue('factor-reset', jsonb_build_object('reset_id', p_reset.id), p_run_at => p_reset.effective_at);
  end if;
end
$$;
comment on function app.announce_reset is 'callers: identity_gate';

-- Cancels the open reset of a user whose row the transaction has locked. Returns whether there was one. Uses up the links of its mails, and mails
-- the user. p_actor is null for an operator.
create function app.end_reset(p_user uuid, p_actor uuid, p_after jsonb, p_source app.source) returns boolean
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  update app.factor_resets r set cancelled_at = now() where r.user_id = p_user and r.cancelled_at is null and r.done_at is null;
  if not found then
    return false;
  end if;
  update app.tokens t set consumed_at = now() where t.user_id = p_user and t.purpose = 'factor_reset_cancel' and t.consumed_at is null;
  if p_actor is null then
    perform app.audit_reset(p_user, 'user.second_factor_reset_cancelled', p_after, p_source);
  else
    perform app.audit_user(p_user, 'user.second_factor_reset_cancelled', p_after, p_source);
  end if;
  perform app.mail_change(p_user, 'reset-cancelled');
  return true;
end
$$;
comment on function app.end_reset is 'callers: identity_gate';

-- Requests the reset of a member of the ticket's tenant, in the name of the ticket's user. It takes effect in p_hours if that is the person's
-- only tenant, and else waits for an operator. Returns null when a reset is open then, a new one or an earlier one, or why it is refused:
-- `no-member`, `beyond` when the caller may not give the member's role, `oneself`, `no-factor`. Raises TN401, TN403 and TN428 as
-- app.enter_to_write. Lock order: as a write, then the row of the user.
create function app.request_factor_reset(
    p_ticket bytea, p_membership uuid, p_hours integer, p_step_up_seconds integer, p_source app.source)
  returns text
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_ticket record := app.check_ticket(p_ticket, 'session');
  v_member app.memberships;
  v_reset app.factor_resets;
begin
  perform app.enter_to_write(p_ticket, 'member.manage', false, p_step_up_seconds);
  perform app.set_tenant(null);
  select * into v_member from app.memberships m
   where m.id = p_membership and m.tenant_id = v_ticket.tenant_id and m.accepted_at is not null and m.revoked_at is null;
  if not found then
    return 'no-member';
  elsif not app.may_give(v_ticket.tenant_id, v_ticket.user_id, v_member.role_id) then
    return 'beyond';
  elsif v_member.user_id = v_ticket.user_id then
    return 'oneself';
  end if;
  perform from app.users u where u.id = v_member.user_id for no key update;
  if not exists (select from app.factors f where f.user_id = v_member.user_id) then
    return 'no-factor';
  end if;
  insert into app.factor_resets (user_id, requested_by, effective_at)
  values (v_member.user_id, v_ticket.user_id,
          case when app.may_vouch(v_ticket.user_id, v_member.user_id) then now() + make_interval(hours => p_hours) end)
  on conflict do nothing
  returning * into v_reset;
  if found then
    perform app.announce_reset(v_reset);
    perform app.audit_reset(v_member.user_id, 'user.second_factor_reset_requested', null, p_source, v_ticket.tenant_id, v_ticket.user_id);
  end if;
  return null;
end
$$;
comment on function app.request_factor_reset is
  'owner: identity_gate; proof: ticket; callers: identity_app; definer: reads factors, and writes a table that no login reaches';

-- Requests the reset of the user with an address for an operator, or confirms the one that a manager requested. It takes effect in p_hours, or
-- at the time that an open one has. Returns the user, whether they have a factor, and the time; no row without a user.
create function app.operate_factor_reset(p_email text, p_hours integer, p_after jsonb, p_source app.source)
  returns table (user_id uuid, has_factor boolean, effective_at timestamptz)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
declare
  v_reset app.factor_resets;
  v_is_new boolean := true;
begin
  select u.id into user_id from app.users u where u.email = p_email for no key update;
  if not found then
    return;
  end if;
  has_factor := exists (select from app.factors f where f.user_id = operate_factor_reset.user_id);
  if has_factor then
    select * into v_reset from app.factor_resets r
     where r.user_id = operate_factor_reset.user_id and r.cancelled_at is null and r.done_at is null for update;
    if found then
      v_is_new := v_reset.effective_at is null;
      update app.factor_resets r
         set requested_by = null, effective_at = coalesce(r.effective_at, now() + make_interval(hours => p_hours))
       where r.id = v_reset.id returning * into v_reset;
    else
      insert into app.factor_resets (user_id, effective_at)
      values (operate_factor_reset.user_id, now() + make_interval(hours => p_hours)) returning * into v_reset;
    end if;
    if v_is_new then
      perform app.announce_reset(v_reset);
    end if;
    perform app.audit_reset(v_reset.user_id, 'user.second_factor_reset_requested', p_after, p_source);
    effective_at := v_reset.effective_at;
  end if;
  return next;
end
$$;
comment on function app.operate_factor_reset is
  'owner: identity_gate; proof: none; callers: identity_operator; definer: writes a table that no login reaches';

-- Cancels the open reset of the user with an address, for an operator. Returns the user and whether there was one; no row without a user.
create function app.operate_reset_cancellation(p_email text, p_after jsonb, p_source app.source)
  returns table (user_id uuid, cancelled boolean)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  select u.id into user_id from app.users u where u.email = p_email for no key update;
  if found then
    cancelled := app.end_reset(user_id, null, p_after, p_source);
    return next;
  end if;
end
$$;
comment on function app.operate_reset_cancellation is
  'owner: identity_gate; proof: none; callers: identity_operator; definer: writes a table that no login reaches';

-- Cancels a reset by the token of its mail. Returns whether it is cancelled now, or was before by this token or another way. The token of a reset
-- that has taken effect is gone.
create function app.cancel_factor_reset(p_token_hash bytea, p_previous bytea, p_source app.source) returns boolean
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_user uuid;
  v_token app.tokens;
begin
  select t.user_id into v_user from app.tokens t
   where t.token_hash in (p_token_hash, p_previous) and t.purpose = 'factor_reset_cancel';
  -- Whoever requests, cancels or runs a reset takes turns at the row of the user.
  perform from app.users u where u.id = v_user for no key update;
  select * into v_token from app.tokens t
   where t.token_hash in (p_token_hash, p_previous) and t.purpose = 'factor_reset_cancel';
  if v_token.consumed_at is not null then
    return true;
  end if;
  return found and app.is_open_token('factor_reset_cancel', v_user, v_token.created_at, v_token.consumed_at, v_token.expires_at)
     and app.end_reset(v_user, v_user, null, p_source);
end
$$;
comment on function app.cancel_factor_reset is
  'owner: identity_gate; proof: token hash; callers: identity_auth; definer: finds a token by its hash, and writes a table that no login reaches';

-- Returns the address of the user whose reset an open token cancels. Returns null for any other token.
create function app.find_reset_cancellation(p_token_hash bytea, p_previous bytea) returns text
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  return (select u.email::text
            from app.tokens t join app.users u on u.id = t.user_id
           where t.token_hash in (p_token_hash, p_previous) and t.purpose = 'factor_reset_cancel'
             and app.is_open_token(t.purpose, t.user_id, t.created_at, t.consumed_at, t.expires_at)
             and exists (select from app.factor_resets r where r.user_id = u.id and r.cancelled_at is null and r.done_at is null));
end
$$;
comment on function app.find_reset_cancellation is
  'owner: identity_gate; proof: token hash; callers: identity_auth; definer: finds a token by its hash, and reads its user';

-- Returns the open reset of the user of a live session, or no row.
create function app.own_reset(p_ticket bytea) returns table (requested_at timestamptz, effective_at timestamptz)
  language plpgsql stable security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select r.requested_at, r.effective_at
      from app.check_ticket(p_ticket, 'session') ticket
      cross join lateral app.live_session(ticket.session_id) l
      join app.factor_resets r on r.user_id = l.user_id and r.cancelled_at is null and r.done_at is null;
end
$$;
comment on function app.own_reset is
  'owner: identity_gate; proof: ticket; callers: identity_auth; definer: reads a table that no login reaches';

-- Runs the reset of a leased job when its time has come: deletes the factors, codes and drafts of the user, ends their sessions and open
-- sign-ins, takes their password, and mails a link for a new one. Returns whether it did: not for a reset that has ended, or has another time. One
-- whose manager may no longer vouch waits for an operator from now on. Raises TN403 without a lease that has not ended.
-- Lock order: the open sign-ins, the user (advisory), the user's row.
create function app.run_factor_reset(p_job uuid, p_lease_token uuid) returns boolean
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_source app.source := row(p_job::text, null, null);
  v_user app.users;
  v_reset app.factor_resets;
begin
  select r.* into v_reset from app.jobs j join app.factor_resets r on r.id = (j.payload ->> 'reset_id')::uuid
   where j.id = p_job and j.lease_token = p_lease_token and j.leased_until > now() and j.completed_at is null and j.kind = 'factor-reset';
  if not found then
    raise exception 'no lease of a reset' using errcode = 'TN403';
  end if;
  perform from app.open_sign_ins o where o.user_id = v_reset.user_id order by o.id for update;
  perform app.lock_user(v_reset.user_id);
  select * into v_user from app.users u where u.id = v_reset.user_id for no key update;
  select * into v_reset from app.factor_resets r where r.id = v_reset.id for update;
  if v_reset.cancelled_at is not null or v_reset.done_at is not null or (v_reset.effective_at <= now()) is not true then
    return false;
  elsif v_reset.requested_by is not null and not app.may_vouch(v_reset.requested_by, v_reset.user_id) then
    update app.factor_resets r set effective_at = null where r.id = v_reset.id;
    return false;
  elsif v_user.resets_valid_from >= now() then
    -- The link below would be void. A retry is later than the password.
    raise exception 'the password has changed meanwhile' using errcode = '40001';
  end if;
  update app.factor_resets r set done_at = now() where r.id = v_reset.id;
  delete from app.factors f where f.user_id = v_user.id;
  delete from app.factor_drafts d where d.user_id = v_user.id;
  delete from app.open_sign_ins o where o.user_id = v_user.id;
  delete from app.tokens t where t.user_id = v_user.id and t.purpose in ('recovery_code', 'factor_setup', 'factor_reset_cancel');
  update app.users u set password_hash = null, resets_valid_from = greatest(u.resets_valid_from, now() - interval '1 microsecond')
   where u.id = v_user.id;
  perform app.end_sessions_of(v_user.id, null, null, 'session.revoked', v_source);
  perform app.audit_reset(v_user.id, 'user.second_factor_reset', null, v_source);
  perform app.mail_change(v_user.id, 'reset-done');
  perform app.enqueue('mail', jsonb_build_object('template', 'password-reset', 'email', v_user.email, 'nonce', gen_random_uuid()));
  return true;
end
$$;
comment on function app.run_factor_reset is
  'owner: identity_gate; proof: lease; callers: identity_worker; definer: deletes the factors of a user, which no login may';

-- For the job `maintain`: deletes up to p_batch resets that ended 30 days ago, and returns how many.
create function app.delete_old_resets(p_batch integer) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_deleted integer;
begin
  delete from app.factor_resets where id = any (array(
    select r.id from app.factor_resets r
     where (r.cancelled_at is not null or r.done_at is not null) and coalesce(r.cancelled_at, r.done_at) < now() - interval '30 days'
     order by coalesce(r.cancelled_at, r.done_at) limit p_batch));
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;
comment on function app.delete_old_resets is
  'owner: identity_gate; proof: none; callers: identity_worker; definer: deletes from a table that no login reaches';

-- The class of each column (infra/data-classification.md).
comment on table app.factor_resets is
  'personal: requested_at, effective_at, cancelled_at, done_at; linked: id, user_id, requested_by; '
  'kept: 30 days after its end, by app.delete_old_resets';

select app.give(
  'app.may_vouch', 'app.audit_reset', 'app.announce_reset', 'app.end_reset', 'app.request_factor_reset', 'app.operate_factor_reset',
  'app.operate_reset_cancellation', 'app.cancel_factor_reset', 'app.find_reset_cancellation', 'app.own_reset', 'app.run_factor_reset', 'app.delete_old_resets');
