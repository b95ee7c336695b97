-- Whom a tenant asks for a second factor, and the mails that tell them.
set local role identity_owner;

-- Sets whom the tenant of a ticket asks for a second factor (`none`, `managers` or `everyone`) from p_grace_days on, and returns the tenant. A
-- date that stands only moves earlier. Audits it. Checks the session as every exclusive write does, and raises TN427 for one
-- that has proven no second factor, unless the tenant asks nobody any more: nobody shuts themselves out.
-- It is a revocation: it waits for the writes in progress of sessions without a second factor, and blocks later ones (app.enter_to_write).
create function app.change_second_factor_policy(
    p_ticket bytea, p_require text, p_grace_days integer, p_step_up_seconds integer, p_source app.source)
  returns setof app.tenants
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_ticket record := app.check_ticket(p_ticket, 'session');
  v_from timestamptz := now() + make_interval(days => p_grace_days);
  v_before app.tenants;
  v_after app.tenants;
begin
  if (p_require in ('none', 'managers', 'everyone') and p_grace_days between 0 and 30) is not true then
    raise exception 'no policy of a tenant' using errcode = '22023';
  end if;
  perform app.mark_revocation();
  perform app.enter_to_write(p_ticket, 'company.write', true, p_step_up_seconds);
  if p_require <> 'none' then
    if exists (select from app.sessions s where s.id = v_ticket.session_id and s.second_factor_at is null) then
      raise exception 'the session has proven no second factor' using errcode = 'TN427';
    end if;
    perform pg_advisory_xact_lock(app.lock_of_one_factor(v_ticket.tenant_id));
  end if;
  select t.* into v_before from app.tenants t where t.id = v_ticket.tenant_id;
  update app.tenants t
     set second_factor_managers_from = case when p_require <> 'none' then least(t.second_factor_managers_from, v_from) end,
         second_factor_everyone_from = case when p_require = 'everyone' then least(t.second_factor_everyone_from, v_from) end,
         updated_at = clock_timestamp()
   where t.id = v_ticket.tenant_id
  returning t.* into v_after;
  insert into app.audit_log
    (tenant_id, actor_user_id, action, target_type, target_id, before, after, request_id, client_request_id, ip_hash)
  select v_after.id, v_ticket.user_id, 'tenant.second_factor_policy_changed', 'tenant', v_after.id,
         jsonb_build_object('second_factor', app.policy_of(v_before.second_factor_managers_from, v_before.second_factor_everyone_from)),
         jsonb_build_object('second_factor', p_require), p_source.request_id, p_source.client_request_id,
         app.tenant_ip_hash(p_source.ip_hash, v_after.id);
  if p_require <> 'none' then
    perform app.enqueue('mail', '{"template": "second-factor-policy", "reminder": false}');
    perform app.enqueue('mail', '{"template": "second-factor-policy", "reminder": true}', 'second-factor-policy ' || d, d - interval '1 day')
       from unnest(array[v_after.second_factor_managers_from, v_after.second_factor_everyone_from]) d
      where d - interval '1 day' > now();
  end if;
  return next v_after;
end
$$;
comment on function app.change_second_factor_policy is
  'owner: identity_gate; proof: ticket; callers: identity_app; definer: no login may write the policy of a tenant';

-- Adds a mail for each member whom the tenant of a leased mail asks for a second factor, and who has none: for a reminder only for those
-- whom it asks within a day. Returns how many it added. A member gets one of each for a day from which on they are asked.
create function app.announce_second_factor(p_job uuid, p_lease_token uuid) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_job record := app.leased_mail(p_job, p_lease_token);
  v_reminder boolean := coalesce((v_job.payload ->> 'reminder')::boolean, false);
begin
  if v_job.tenant_id is null or v_job.payload ->> 'template' <> 'second-factor-policy' then
    return 0;
  end if;
  perform app.set_tenant(v_job.tenant_id);
  return (select count(app.enqueue('mail', jsonb_build_object('template', 'second-factor-required', 'user_id', a.user_id),
                                   format('second-factor-required %s %s %s', a.user_id, date_trunc('day', a.since), v_reminder)))
            from app.members_asked_for_a_factor(v_job.tenant_id) a
           where not v_reminder or a.since > now() and a.since <= now() + interval '1 day');
end
$$;
comment on function app.announce_second_factor is
  'owner: identity_gate; proof: lease; callers: identity_mailer; definer: reads the members of a tenant, and who has a factor';

-- Returns the members of an open tenant, or one of them, whom it asks for a second factor, now or later, and who have none, and since when it
-- asks them.
create function app.members_asked_for_a_factor(p_tenant uuid, p_user uuid default null) returns table (user_id uuid, since timestamptz)
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
begin
  return query
    select m.user_id, app.second_factor_from(t.second_factor_managers_from, t.second_factor_everyone_from, r.permissions)
      from app.tenants t
      join app.memberships m on m.tenant_id = t.id and m.accepted_at is not null and m.revoked_at is null
      join app.roles r on r.id = m.role_id
     where t.id = p_tenant and t.deleted_at is null and app.is_open(t.status) and (p_user is null or m.user_id = p_user)
       and app.second_factor_from(t.second_factor_managers_from, t.second_factor_everyone_from, r.permissions) is not null
       and not exists (select from app.factors f where f.user_id = m.user_id);
end
$$;
comment on function app.members_asked_for_a_factor is 'callers: identity_gate';

-- Returns whether a present member of the transaction's tenant has a second factor, and null for anybody else.
create function app.has_second_factor(p_user uuid) returns boolean
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  return (select exists (select from app.factors f where f.user_id = m.user_id)
            from app.memberships m
           where m.tenant_id = (select app.current_tenant()) and m.user_id = p_user and m.accepted_at is not null and m.revoked_at is null);
end
$$;
comment on function app.has_second_factor is
  'owner: identity_gate; proof: scope; callers: identity_app; definer: reads factors, which no login may';

select app.give('app.has_second_factor', 'app.change_second_factor_policy', 'app.announce_second_factor', 'app.members_asked_for_a_factor');
