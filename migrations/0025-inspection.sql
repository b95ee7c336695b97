-- What operators read of all tenants: how many, of what kind, and the error. Row security hides these rows from every login.
-- The functions return no payload, no address, no secret and no hash.
set local role identity_owner;

create policy gate_inspects on app.sync_runs for select to identity_gate using (true);
comment on policy gate_inspects on app.sync_runs is 'counts failed sync runs';
grant select (tenant_id, vendor, status, error, finished_at) on app.sync_runs to identity_gate;
create policy gate_inspects on app.data_keys for select to identity_gate using (true);
comment on policy gate_inspects on app.data_keys is 'counts data keys by KMS key';
grant select (tenant_id, kms_key_arn, usable) on app.data_keys to identity_gate;

-- Returns the jobs that were dead-lettered.
create function app.dead_letters()
  returns table (kind text, id uuid, tenant_id uuid, attempts integer, last_error text, dead_at timestamptz)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select j.kind::text, j.id, j.tenant_id, j.attempts, j.last_error::text, j.dead_at
      from app.jobs j where j.dead_at is not null and j.completed_at is null;
end
$$;
comment on function app.dead_letters is
  'owner: identity_gate; proof: none; callers: identity_operator; definer: lists dead-lettered jobs of all tenants';

-- Counts the sync runs of the last hour that failed.
create function app.failed_syncs() returns table (tenant_id uuid, vendor text, error text, runs integer)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select r.tenant_id, r.vendor, r.error, count(*)::integer from app.sync_runs r
     where r.status = 'failed' and r.finished_at > now() - interval '1 hour' group by 1, 2, 3;
end
$$;
comment on function app.failed_syncs is
  'owner: identity_gate; proof: none; callers: identity_operator; definer: counts failed sync runs of all tenants';

-- Counts the invitations that bounced within a day.
create function app.bounced_invitations() returns table (tenant_id uuid, invitations integer)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select t.tenant_id, count(*)::integer from app.tokens t
     where t.purpose = 'invite' and t.bounced_at > now() - interval '1 day' group by 1;
end
$$;
comment on function app.bounced_invitations is
  'owner: identity_gate; proof: none; callers: identity_operator; definer: counts bounced invitations of all tenants';

-- Counts the data keys that are not destroyed, by the KMS key that wraps them.
create function app.kms_keys_in_use() returns table (kms_key_arn text, tenant_id uuid, data_keys integer)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    select k.kms_key_arn, k.tenant_id, count(*)::integer from app.data_keys k where k.usable group by 1, 2;
end
$$;
comment on function app.kms_keys_in_use is
  'owner: identity_gate; proof: none; callers: identity_operator; definer: counts data keys of all tenants';

select app.give('app.dead_letters', 'app.failed_syncs', 'app.bounced_invitations', 'app.kms_keys_in_use');
