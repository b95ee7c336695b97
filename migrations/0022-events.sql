-- Events: what other services of the platform learn of a change. The audit entry of a published action adds its event in the same
-- transaction, so a change and its event both commit or neither does. The table is a log: services read it in order, and nothing but
-- `job_id` changes in it. Jobs of the kind `event` send the events to the bus, up to fifty each.
-- It has more than 300 lines, because a noun has one file.
set local role identity_owner;

-- The published actions, each with the keys of `before` and `after` that may leave: those of AUDIT_ACTIONS
-- (shared/audit/actions.ts). A test compares both.
create table app.event_actions (
  action text primary key,
  keys   text[] not null
);
insert into app.event_actions values
  ('api_key.created', '{permissions,expires_at}'),
  ('api_key.renamed', '{permissions,expires_at}'),
  ('api_key.revoked', '{permissions,expires_at}'),
  ('api_key.rotated', '{permissions,expires_at}'),
  ('deal.changed', '{status}'),
  ('deal.created', '{number}'),
  ('deal.lines_replaced', '{lines}'),
  ('design.approved', '{}'),
  ('design.asset_added', '{asset_id,approved_by}'),
  ('design.asset_removed', '{asset_id,approved_by}'),
  ('design.created', '{}'),
  ('design.primary_asset_chosen', '{asset_id}'),
  ('invitation.cancelled', '{role}'),
  ('invitation.created', '{role}'),
  ('invitation.replaced', '{role}'),
  ('invitation.resent', '{}'),
  ('invitation.role_changed', '{role}'),
  ('membership.accepted', '{role}'),
  ('membership.revoked', '{role}'),
  ('membership.role_changed', '{role}'),
  ('price_breaks.replaced', '{min_quantities}'),
  ('role.changed', '{id,permissions}'),
  ('role.created', '{id,code,based_on,permissions}'),
  ('role.deleted', '{id,code}'),
  ('sync_run.abandoned', '{}'),
  ('sync_run.created', '{vendor,vendor_account_id}'),
  ('tenant.changed', '{timezone,currency,changed_settings}'),
  ('tenant.created', '{slug,status}'),
  ('tenant.second_factor_policy_changed', '{second_factor}'),
  ('tenant.status_changed', '{status}'),
  ('user.disabled', '{}'),
  ('user.enabled', '{}'),
  ('vendor_account.created', '{vendor}'),
  ('vendor_account.opened', '{secret_version}'),
  ('vendor_account.refused', '{secret_version}'),
  ('vendor_account.revoked', '{vendor}'),
  ('vendor_account.secret_replaced', '{secret_version}'),
  ('vendor_account.verified', '{secret_version}');
grant select on app.event_actions to identity_resolver;

-- The id is that of the audit entry. `xact` gives the order for readers: a transaction that has not ended has a number of at least
-- pg_snapshot_xmin(pg_current_snapshot()), so a reader of the lower numbers, by (xact, id), never skips an event that commits later.
create table app.events (
  xact          xid8 not null default pg_current_xact_id(),
  id            uuid not null,
  tenant_id     uuid not null references app.tenants,
  occurred_at   timestamptz not null,
  action        text not null,
  actor_user_id uuid,
  actor_key_id  uuid,
  target_type   text not null,
  target_id     uuid,
  -- The user of a membership that is the target: a reader of events may know the user and not the membership.
  target_user_id uuid,
  before        jsonb,
  after         jsonb,
  -- The job that sends it, which may have been deleted since. Null until there is one.
  job_id        uuid,
  primary key (xact, id)
) with (fillfactor = 80);
create index events_without_job on app.events (xact, id) where job_id is null;
select app.enforce_tenant('app.events');

-- One row: the place of the last event that was deleted. Events are deleted in their order, so whoever has read to an earlier
-- place has missed one, and nobody else.
create table app.deleted_events (
  singleton boolean primary key default true check (singleton),
  xact xid8 not null default '0',
  id   uuid not null default '00000000-0000-0000-0000-000000000000'
);
insert into app.deleted_events default values;
grant select (xact, id), update (xact, id) on app.deleted_events to identity_gate;
grant select (xact, id) on app.deleted_events to identity_resolver;

-- The worker counts the events of every tenant. The functions below add them, give them to jobs, show them to a lease and delete them.
create policy worker_queue on app.events for select to identity_worker using (true);
comment on policy worker_queue on app.events is 'counts the events of all tenants';
grant select (xact, id, occurred_at, job_id) on app.events to identity_worker;
create policy resolver_queue on app.events to identity_resolver using (true);
comment on policy resolver_queue on app.events is 'adds events, gives them to jobs, and shows them to services with a key';
grant select,
    insert (id, tenant_id, occurred_at, action, actor_user_id, actor_key_id, target_type, target_id, target_user_id, before, after),
    update (job_id)
  on app.events to identity_resolver;
create policy gate on app.events to identity_gate using (true);
comment on policy gate on app.events is 'returns the events of all tenants to a lease, and deletes old ones';
grant select, delete on app.events to identity_gate;
grant update (payload) on app.jobs to identity_gate;

-- Returns what may leave of `before` or `after`: the keys of the action, and of these only ids, codes, numbers, truth values and
-- lists of codes or numbers. Null when nothing is left. No text with a space, an @, a quote or a letter beyond ASCII leaves. A search
-- for one wrong character costs a tenth of a pattern for the right form, and a loop a fifth of a query.
create function app.leaving(p_change jsonb, p_keys text[]) returns jsonb
  language plpgsql immutable
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_key text;
  v_value jsonb;
  v_text text;
  v_leaves boolean;
  v_left jsonb;
begin
  foreach v_key in array p_keys loop
    v_value := p_change -> v_key;
    if jsonb_typeof(v_value) = 'array' then
      v_text := replace(v_value::text, '", "', '');
      v_leaves := v_text !~ '[^][A-Za-z0-9_.:*/+"-]' or v_text !~ '[^][0-9, -]';
    else
      v_text := left(v_value::text, 67);
      v_leaves := v_text !~ '[^][A-Za-z0-9_.:*/+"-]' and length(v_text) <= 66;
    end if;
    if v_leaves then
      v_left := coalesce(v_left, '{}') || jsonb_build_object(v_key, v_value);
    end if;
  end loop;
  return v_left;
end
$$;
comment on function app.leaving is 'callers: identity_resolver';

-- Adds the event of an audit entry, if its action is published. The event of a membership names its user, whoever wrote the entry.
create function app.add_event() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_keys text[];
  v_before jsonb;
  v_after jsonb;
  v_user uuid;
begin
  select a.keys into v_keys from app.event_actions a where a.action = new.action;
  if found then
    if new.before is not null then
      v_before := app.leaving(new.before, v_keys);
    end if;
    if new.after is not null then
      v_after := app.leaving(new.after, v_keys);
    end if;
    if new.target_type = 'membership' then
      select m.user_id into v_user from app.memberships m where m.id = new.target_id;
    end if;
    insert into app.events (id, tenant_id, occurred_at, action, actor_user_id, actor_key_id, target_type, target_id, target_user_id, before, after)
    values (new.id, new.tenant_id, new.occurred_at, new.action, new.actor_user_id, new.actor_key_id, new.target_type, new.target_id, v_user,
            v_before, v_after);
  end if;
  return null;
end
$$;
comment on function app.add_event is
  'owner: identity_resolver; proof: none; callers: identity_owner; '
  'definer: adds an event, which no writer of an audit entry may';

-- Adds a job for the fifty oldest events that have none. Does nothing when every event has one. Concurrent callers take disjoint
-- events. A job for each event in the transaction of its change would cost that transaction a third more.
create function app.enqueue_events() returns void
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_xacts xid8[];
  v_ids uuid[];
  v_last integer;
  v_job uuid;
begin
  select array_agg(w.xact), array_agg(w.id) into v_xacts, v_ids
    from (select e.xact, e.id from app.events e where e.job_id is null order by e.xact, e.id limit 50 for update skip locked) as w;
  if v_ids is not null then
    v_last := cardinality(v_ids);
    v_job := app.enqueue('event', jsonb_build_object(
      'from', jsonb_build_object('xact', v_xacts[1], 'id', v_ids[1]), 'to', jsonb_build_object('xact', v_xacts[v_last], 'id', v_ids[v_last])));
    update app.events e set job_id = v_job
      from unnest(v_xacts, v_ids) as w(xact, id) where e.xact = w.xact and e.id = w.id;
  end if;
end
$$;
comment on function app.enqueue_events is
  'owner: identity_resolver; proof: none; callers: identity_publisher; definer: gives events of all tenants to a job';

-- Returns the events of a leased job, the oldest first. Returns no row without a lease that has not ended.
create function app.leased_events(p_job uuid, p_lease_token uuid)
  returns table (id uuid, tenant_id uuid, occurred_at timestamptz, action text, actor_user_id uuid, actor_key_id uuid, target_type text,
                 target_id uuid, target_user_id uuid, before jsonb, after jsonb)
  language plpgsql stable security definer rows 50
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_job app.job_payload;
begin
  -- A statement of its own: in a join, Postgres would read the whole log for the events that name the job.
  select j.payload into v_job from app.jobs j
   where j.id = p_job and j.lease_token = p_lease_token and j.leased_until > now() and j.completed_at is null and j.kind = 'event';
  return query
    select e.id, e.tenant_id, e.occurred_at, e.action, e.actor_user_id, e.actor_key_id, e.target_type, e.target_id, e.target_user_id,
           e.before, e.after
      from app.events e
     where (e.xact, e.id) >= ((v_job #>> '{from,xact}')::xid8, (v_job #>> '{from,id}')::uuid)
       and (e.xact, e.id) <= ((v_job #>> '{to,xact}')::xid8, (v_job #>> '{to,id}')::uuid)
       and e.job_id = p_job and (v_job -> 'ids' is null or v_job -> 'ids' ? e.id::text)
     order by e.xact, e.id;
end
$$;
comment on function app.leased_events is
  'owner: identity_gate; proof: lease; callers: identity_publisher; definer: compares a lease, and reads events of all tenants';

-- Leaves only these of its events to a leased job: the bus has the others. Does nothing without a lease.
create function app.keep_events(p_job uuid, p_lease_token uuid, p_ids uuid[]) returns void
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  update app.jobs j set payload = j.payload::jsonb || jsonb_build_object('ids', p_ids)
   where j.id = p_job and j.lease_token = p_lease_token and j.completed_at is null and j.kind = 'event';
end
$$;
comment on function app.keep_events is
  'owner: identity_gate; proof: lease; callers: identity_publisher; definer: compares a lease, which no login may read';

-- For an operator: makes the jobs of events due that wait or were dead-lettered. With a time also those that ended since then, whose events
-- the bus then gets again. Returns how many. A job that is leased, it leaves alone.
create function app.send_events_again(p_since timestamptz) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_jobs integer;
begin
  update app.jobs j
     set run_at = now(), dead_at = null, completed_at = null,
         payload = case when j.completed_at is null then j.payload::jsonb else j.payload::jsonb - 'ids' end
   where j.kind = 'event' and (j.leased_until is null or j.leased_until < now())
     and (j.completed_at is null or j.completed_at >= p_since);
  get diagnostics v_jobs = row_count;
  return v_jobs;
end
$$;
comment on function app.send_events_again is
  'owner: identity_gate; proof: none; callers: identity_operator; definer: changes jobs of all tenants, which no login may';

-- A new partition of the audit log gets the trigger from the owner, who therefore is a caller of app.add_event.
create trigger audit_log_adds_event after insert on app.audit_log for each row execute function app.add_event();

-- For the job `maintain`: deletes up to p_batch events, in their order, and returns how many: those before the first that has no job, or whose job
-- is there. A job stays for 30 days after its end (app.delete_old_jobs), so each of these events was sent, or given up, 30 days ago. The
-- subquery in parentheses is one that Postgres cannot turn into a read of all jobs.
create function app.delete_old_events(p_batch integer) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_deleted integer;
begin
  with first_kept as (
    select place from (
      select e.xact, e.id, e.job_id, row_number() over (order by e.xact, e.id) as place
        from app.events e order by e.xact, e.id limit p_batch) as oldest
     where job_id is null or (select true from app.jobs j where j.id = oldest.job_id)
     order by xact, id limit 1
  ), gone as (
    delete from app.events where (xact, id) in (
      select e.xact, e.id from app.events e
       order by e.xact, e.id limit coalesce((select place - 1 from first_kept), p_batch))
    returning xact, id
  ), last as (
    select xact, id from gone order by xact desc, id desc limit 1
  ), moved as (
    update app.deleted_events d set xact = l.xact, id = l.id from last l where (d.xact, d.id) < (l.xact, l.id)
  )
  select count(*) into v_deleted from gone;
  return v_deleted;
end
$$;
comment on function app.delete_old_events is
  'owner: identity_gate; proof: none; callers: identity_worker; definer: deletes events of all tenants, which no login may';

-- The class of each column (infra/data-classification.md).
comment on table app.event_actions is
  'platform: action, keys; '
  'kept: always';
comment on table app.deleted_events is
  'platform: singleton, xact, id; '
  'kept: always';
comment on table app.events is
  'linked: actor_user_id, actor_key_id, target_id, target_user_id, before, after; tenant: xact, id, tenant_id, occurred_at, action, target_type; '
  'platform: job_id; '
  'kept: as long as its job or an older event, by app.delete_old_events';

select app.give('app.leaving', 'app.add_event', 'app.enqueue_events', 'app.leased_events', 'app.keep_events',
  'app.send_events_again', 'app.delete_old_events');
