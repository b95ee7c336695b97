-- The job queue. A change inserts its job in its own transaction, so both commit or neither does. Workers claim jobs with
-- SKIP LOCKED, under a lease with a token. A worker that lost its lease to another cannot complete the job.
set local role identity_owner;

create domain app.job_kind as text constraint job_kind_check check (value ~ '^[a-z]+(-[a-z]+)*$');
create domain app.job_payload as jsonb
  constraint job_payload_check check (jsonb_typeof(value) = 'object' and length(value::text) <= 4000);
create domain app.idempotency_key as text constraint idempotency_key_check check (length(value) between 1 and 200);
create domain app.job_error as text constraint job_error_check check (length(value) <= 200);

create table app.jobs (
  id              uuid primary key default gen_random_uuid(),
  tenant_id       uuid references app.tenants,
  kind            app.job_kind not null,
  payload         app.job_payload not null,
  idempotency_key app.idempotency_key not null,
  run_at          timestamptz not null default now(),
  attempts        integer not null default 0,
  -- How many leases in a row expired because the worker died.
  lost_leases     integer not null default 0,
  lease_token     uuid,
  leased_until    timestamptz,
  completed_at    timestamptz,
  dead_at         timestamptz,
  last_error      app.job_error,
  -- When it was added, or the later time from which on it is due: it counts as undone since then.
  created_at      timestamptz not null default now(),
  -- Of the mail of an invitation: a hash of the address that the mailer got, and when the mail came back (0019).
  mailed_to       app.hash,
  bounced_at      timestamptz,
  unique nulls not distinct (tenant_id, kind, idempotency_key)
) with (fillfactor = 70);
create index jobs_due on app.jobs (kind, run_at) where completed_at is null and dead_at is null;
create index jobs_ended on app.jobs (coalesce(completed_at, dead_at)) where completed_at is not null or dead_at is not null;
select app.enforce_tenant('app.jobs');

-- The worker counts the jobs of every tenant. The functions below lease, end and delete them: a worker sees no lease of another, and a job
-- that has not ended stays.
create policy worker_queue on app.jobs for select to identity_worker using (true);
comment on policy worker_queue on app.jobs is 'counts the jobs of all tenants';
grant select (id, kind, run_at, attempts, leased_until, completed_at, dead_at, last_error, created_at) on app.jobs to identity_worker;
create policy gate on app.jobs to identity_gate using (true);
comment on policy gate on app.jobs is 'leases jobs of all tenants';
grant select,
  update (run_at, attempts, lost_leases, lease_token, leased_until, completed_at, dead_at, last_error, mailed_to, bounced_at), delete
  on app.jobs to identity_gate;

-- Adds a job for the transaction's tenant, or for the platform when none is set, and returns its id. It is due at p_run_at, or now. When the
-- idempotency key exists, returns the id of the first job and adds nothing. The other roles have no privilege on the table: this function is
-- their only way to add a job.
create function app.enqueue(
    p_kind text, p_payload jsonb, p_idempotency_key text default gen_random_uuid()::text, p_run_at timestamptz default null)
  returns uuid
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_tenant uuid := app.current_tenant();
  v_due    timestamptz := greatest(p_run_at, now());
  v_job    uuid;
begin
  loop
    insert into app.jobs as j (tenant_id, kind, payload, idempotency_key, run_at, created_at)
    values (v_tenant, p_kind, p_payload, p_idempotency_key, v_due, v_due)
    on conflict do nothing
    returning j.id into v_job;
    exit when found;
    -- A statement of its own sees the first job, also when another transaction has only just committed it.
    select j.id into v_job from app.jobs j
     where j.kind = p_kind and j.idempotency_key = p_idempotency_key
       and (j.tenant_id = v_tenant or (j.tenant_id is null and v_tenant is null));
    exit when found;
    -- The first job was deleted between the two statements.
  end loop;
  return v_job;
end
$$;
comment on function app.enqueue is
  'owner: identity_resolver; proof: scope; callers: identity_app, identity_auth, identity_operator, identity_gate; '
  'definer: adds a job, and the other roles have no privilege on app.jobs';
create policy resolver_enqueue on app.jobs to identity_resolver
  using (tenant_id is not distinct from (select app.current_tenant()));
grant select (id, tenant_id, kind, idempotency_key), insert (tenant_id, kind, payload, idempotency_key, run_at, created_at)
  on app.jobs to identity_resolver;

-- Adds a job and takes it back. The transaction still commits and waits for the disk, as after app.enqueue.
create function app.rehearse_enqueue(p_kind text, p_payload jsonb) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform app.enqueue(p_kind, p_payload);
  raise exception 'rehearsed' using errcode = 'TN000';
exception when sqlstate 'TN000' then
  null;
end
$$;
comment on function app.rehearse_enqueue is 'callers: identity_auth, identity_gate';

-- Leases up to p_most due jobs of a kind and returns them. Concurrent workers get disjoint jobs. Dead-letters a job whose
-- workers died twelve times in a row, or whose last lease of p_attempts expired. Without p_attempts, the worker alone decides
-- how often it tries. Uses the database's clock. For app.claim_jobs.
create function app.lease_jobs(p_kind text, p_most integer, p_lease_seconds integer, p_attempts integer)
  returns table (id uuid, tenant_id uuid, payload jsonb, attempts integer, lease_token uuid, created_at timestamptz)
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
begin
  return query
    with spent as (
      select j.id from app.jobs j
       where j.kind = p_kind and j.completed_at is null and j.dead_at is null and j.run_at <= now()
         and j.leased_until < now() and (j.lost_leases >= 11 or j.attempts >= p_attempts)
       order by j.run_at, j.id limit p_most
       for update skip locked
    ), dead as (
      update app.jobs j
         set dead_at = now(), last_error = 'its workers died', lease_token = null, leased_until = null
        from spent where j.id = spent.id
    ), due as (
      select j.id from app.jobs j
       where j.kind = p_kind and j.completed_at is null and j.dead_at is null and j.run_at <= now()
         and (j.leased_until is null or (j.leased_until < now() and j.lost_leases < 11))
         and (p_attempts is null or j.attempts < p_attempts)
       order by j.run_at, j.id limit p_most
       for update skip locked
    )
    update app.jobs j
       set attempts = j.attempts + 1, lease_token = gen_random_uuid(),
           lost_leases = case when j.leased_until is null then 0 else j.lost_leases + 1 end,
           leased_until = now() + make_interval(secs => p_lease_seconds)
      from due where j.id = due.id
    returning j.id, j.tenant_id, j.payload::jsonb, j.attempts, j.lease_token, j.created_at;
end
$$;
comment on function app.lease_jobs is 'callers: identity_gate';

-- Returns the login that claims the jobs of a kind. A lease of a mail returns its recipient, and one of events their content, so
-- each of both has a login of its own.
create function app.claimant_of(p_kind text) returns text
  language sql immutable parallel safe
  return case p_kind when 'mail' then 'identity_mailer' when 'event' then 'identity_publisher' else 'identity_worker' end;
comment on function app.claimant_of is 'callers: identity_gate';

-- Leases due jobs of a kind for its login. Raises 42501 for another one.
create function app.claim_jobs(p_kind text, p_most integer, p_lease_seconds integer, p_attempts integer)
  returns table (id uuid, tenant_id uuid, payload jsonb, attempts integer, lease_token uuid, created_at timestamptz)
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  -- Here current_user is the owner. The caller is the role that it has set, or else its login.
  if app.claimant_of(p_kind) <> coalesce(nullif(current_setting('role'), 'none'), session_user) then
    raise exception 'another login claims the jobs of this kind' using errcode = '42501';
  end if;
  return query select * from app.lease_jobs(p_kind, p_most, p_lease_seconds, p_attempts);
end
$$;
comment on function app.claim_jobs is
  'owner: identity_gate; proof: none; callers: identity_worker, identity_mailer, identity_publisher; '
  'definer: writes leases, which no login may read';

-- Extends a lease that has not ended. Returns false, and changes nothing, when it has.
create function app.renew_lease(p_job uuid, p_lease_token uuid, p_lease_seconds integer) returns boolean
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  update app.jobs j set leased_until = now() + make_interval(secs => p_lease_seconds)
   where j.id = p_job and j.lease_token = p_lease_token and j.leased_until > now() and j.completed_at is null;
  return found;
end
$$;
comment on function app.renew_lease is
  'owner: identity_gate; proof: lease; callers: identity_worker; definer: compares a lease, which no login may read';

-- Ends a lease, with an error or without. With an error the job is retried after p_delay_seconds, or dead-lettered when that
-- is null. Returns false, and changes nothing, when another worker has the lease.
create function app.end_lease(p_job uuid, p_lease_token uuid, p_error text, p_delay_seconds double precision) returns boolean
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  update app.jobs j
     set lease_token = null, leased_until = null, last_error = coalesce(left(p_error, 200), j.last_error),
         completed_at = case when p_error is null then now() end,
         run_at = case when p_error is null then j.run_at else now() + make_interval(secs => coalesce(p_delay_seconds, 0)) end,
         dead_at = case when p_error is not null and p_delay_seconds is null then now() end
   where j.id = p_job and j.lease_token = p_lease_token and j.completed_at is null;
  return found;
end
$$;
comment on function app.end_lease is
  'owner: identity_gate; proof: lease; callers: identity_worker, identity_mailer, identity_publisher; '
  'definer: compares a lease, which no login may read';

-- Gives a leased job back, as if it had not been leased. Returns false, and changes nothing, when another worker has the lease.
create function app.return_job(p_job uuid, p_lease_token uuid, p_error text) returns boolean
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  update app.jobs j
     set lease_token = null, leased_until = null, attempts = j.attempts - 1, last_error = left(p_error, 200)
   where j.id = p_job and j.lease_token = p_lease_token and j.completed_at is null;
  return found;
end
$$;
comment on function app.return_job is
  'owner: identity_gate; proof: lease; callers: identity_worker, identity_mailer; '
  'definer: compares a lease, which no login may read';

-- Returns the ticket of a lease that has not ended, for the tenant of its job. Raises TN403 without one.
create function app.lease_ticket(p_job uuid, p_lease_token uuid) returns bytea
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_tenant uuid;
begin
  select j.tenant_id into v_tenant from app.jobs j
   where j.id = p_job and j.lease_token = p_lease_token and j.leased_until > now() and j.completed_at is null;
  if v_tenant is null then
    raise exception 'no lease of a job with a tenant' using errcode = 'TN403';
  end if;
  return app.seal_ticket('job', v_tenant, p_may_write => true);
end
$$;
comment on function app.lease_ticket is
  'owner: identity_gate; proof: lease; callers: identity_worker, identity_vault; '
  'definer: compares a lease, and seals a ticket';

-- For the job `maintain`: deletes up to p_batch jobs that were completed or dead-lettered 30 days ago, and returns how many. The order makes
-- Postgres read the index of jobs that ended.
create function app.delete_old_jobs(p_batch integer) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_deleted integer;
begin
  delete from app.jobs where id = any (array(
    select j.id from app.jobs j
     where (j.completed_at is not null or j.dead_at is not null)
       and coalesce(j.completed_at, j.dead_at) < now() - interval '30 days'
     order by coalesce(j.completed_at, j.dead_at) limit p_batch));
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;
comment on function app.delete_old_jobs is
  'owner: identity_gate; proof: none; callers: identity_worker; definer: deletes jobs of all tenants, which no login may';

-- The class of each column (infra/data-classification.md).
comment on table app.jobs is
  'personal: payload; linked: idempotency_key, mailed_to; tenant: tenant_id; '
  'platform: id, kind, run_at, attempts, lost_leases, lease_token, leased_until, completed_at, dead_at, last_error, created_at, bounced_at; '
  'kept: 30 days after its end, by app.delete_old_jobs';

select app.give(
  'app.enqueue', 'app.rehearse_enqueue', 'app.lease_jobs', 'app.claimant_of', 'app.claim_jobs', 'app.renew_lease',
  'app.end_lease', 'app.return_job', 'app.lease_ticket', 'app.delete_old_jobs');
