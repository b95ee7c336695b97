-- Whom a tenant asks for a second factor.
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
  return next v_after;
end
$$;
comment on function app.change_second_factor_policy is
  'owner: identity_gate; proof: ticket; callers: identity_app; definer: no login may write the policy of a tenant';

select app.give('app.change_second_factor_policy');
