-- Bounces and complaints, which SES reports for a mail by the id of its job. A mark of an invitation stops the invitations to its address. A
-- mark of a user, for a mail that the user asked for, stops every mail to them. What a tenant sends never ends a user's password resets. An
-- operator clears the marks. Too many bounces stop the invitations of their tenant, until an operator allows them again.
set local role identity_owner;

grant update (bounced_at) on app.users to identity_gate;
grant update (bounced_at) on app.tokens to identity_gate;

-- Returns the hash by which a job remembers its recipient.
create function app.recipient_hash(p_job uuid, p_address text) returns bytea
  language sql immutable parallel safe
  return sha256(convert_to(p_job || ' ' || lower(p_address collate "C"), 'UTF8'));
comment on function app.recipient_hash is 'callers: identity_gate';

-- Stops the invitations of a tenant when at least five of those that were mailed within seven days came back, and more than a tenth of
-- them. Returns whether it did. SES may pause the mail of the whole account at a tenth:
-- https://docs.aws.amazon.com/ses/latest/dg/reputationdashboardmessages.html. Requires the lock of the tenant: of two bounces at
-- the same time, the second counts the first.
create function app.stop_invitations(p_tenant uuid) returns boolean
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  update app.tenants t set invitations_stopped_at = now()
   where t.id = p_tenant and t.invitations_stopped_at is null
     and (select count(j.bounced_at) >= 5 and count(j.bounced_at) * 10 > count(*) from app.jobs j
           where j.tenant_id = p_tenant and j.kind = 'mail' and j.mailed_to is not null
             and j.created_at > greatest(now() - interval '7 days', t.invitations_counted_from));
  if found then
    insert into app.audit_log (tenant_id, action, target_type, target_id) values (p_tenant, 'tenant.invitations_stopped', 'tenant', p_tenant);
  end if;
  return found;
end
$$;
comment on function app.stop_invitations is 'callers: identity_gate';

-- Records that the mail of a job to an address bounced. Returns whether it is news, and whether it stopped the invitations of the
-- tenant. Changes nothing for a job that is unknown, or that was not for this address, so a forged or repeated report changes nothing.
create function app.record_bounce(p_job uuid, p_address text, p_cause text, out recorded boolean, out stopped boolean)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_tenant uuid;
  v_payload jsonb;
  v_invitation uuid;
  v_user uuid;
begin
  select j.tenant_id, j.payload into v_tenant, v_payload from app.jobs j where j.id = p_job and j.kind = 'mail';
  -- As every invitation does, before a row of its own.
  perform from app.tenants t where t.id = v_tenant for no key update;
  update app.tokens t set bounced_at = now()
   where t.id = (v_payload ->> 'invitation_id')::uuid and t.purpose = 'invite' and t.tenant_id = v_tenant
     and t.email = p_address and t.consumed_at is null and t.bounced_at is null
  returning t.id into v_invitation;
  update app.users u set bounced_at = now()
   where u.email = p_address and u.bounced_at is null
     and v_payload ->> 'template' in ('password-reset', 'email-verification', 'password-changed')
     and (u.id = (v_payload ->> 'user_id')::uuid or u.email = v_payload ->> 'email')
  returning u.id into v_user;
  if v_invitation is not null then
    insert into app.audit_log (tenant_id, action, target_type, target_id, after)
    values (v_tenant, 'invitation.bounced', 'invitation', v_invitation, jsonb_build_object('cause', p_cause));
  end if;
  insert into app.audit_log (tenant_id, action, target_type, target_id, after)
  select m.tenant_id, 'user.bounced', 'user', v_user, jsonb_build_object('cause', p_cause)
    from app.memberships m where m.user_id = v_user and m.accepted_at is not null and m.revoked_at is null;
  recorded := v_invitation is not null or v_user is not null;
  stopped := false;
  -- Also of an invitation that was cancelled or accepted. SES does not try a suppressed address.
  update app.jobs j set bounced_at = now()
   where j.id = p_job and j.mailed_to = app.recipient_hash(p_job, p_address) and j.bounced_at is null and p_cause <> 'suppressed';
  if found then
    stopped := app.stop_invitations(v_tenant);
  end if;
end
$$;
comment on function app.record_bounce is
  'owner: identity_gate; proof: none; callers: identity_worker; definer: marks users and invitations of all tenants';

-- Clears the marks of an address. Returns each with its tenant: a user once for every tenant of theirs, or once without any.
create function app.clear_bounces(p_address text) returns table (tenant_id uuid, target_type text, target_id uuid)
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    with invitations as (
      update app.tokens t set bounced_at = null
       where t.purpose = 'invite' and t.email = p_address and t.bounced_at is not null
      returning t.tenant_id, t.id
    ), users as (
      update app.users u set bounced_at = null where u.email = p_address and u.bounced_at is not null returning u.id
    )
    select i.tenant_id, 'invitation', i.id from invitations i
    union all
    select m.tenant_id, 'user', u.id
      from users u
      left join app.memberships m on m.user_id = u.id and m.accepted_at is not null and m.revoked_at is null;
end
$$;
comment on function app.clear_bounces is
  'owner: identity_gate; proof: none; callers: identity_operator; definer: marks users and invitations of all tenants';

select app.give('app.recipient_hash', 'app.stop_invitations', 'app.record_bounce', 'app.clear_bounces');
