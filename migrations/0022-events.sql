-- Events: what other services of the platform learn of a change. The audit entry of a published action adds its event in the same
-- transaction, so a change and its event both commit or neither does. The job `publish-events` sends them.
set local role identity_owner;

-- The published actions, each with the keys of `before` and `after` that may leave: those of AUDIT_ACTIONS
-- (shared/audit/actions.ts). A test compares both.
create table app.event_actions (
  action text primary key,
  keys   text[] not null
);
insert into app.event_actions values
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
  target_type   text not null,
  target_id     uuid,
  before        jsonb,
  after         jsonb,
  due_at        timestamptz not null default now(),
  attempts      integer not null default 0,
  lease_token   uuid,
  leased_until  timestamptz,
  published_at  timestamptz,
  dead_at       timestamptz,
  last_error    text,
  primary key (xact, id)
) with (fillfactor = 80);
create index events_unpublished on app.events (xact, id) where published_at is null and dead_at is null;
select app.enforce_tenant('app.events');

-- One row: the place of the last event that was deleted. Events are deleted in their order, so whoever has read to an earlier
-- place has missed one, and nobody else.
create table app.deleted_events (
  singleton boolean primary key default true check (singleton),
  xact xid8 not null default '0',
  id   uuid not null default '00000000-0000-0000-0000-000000000000'
);
insert into app.deleted_events default values;
grant select (xact, id), update (xact, id) on app.deleted_events to identity_worker;
grant select (xact, id) on app.deleted_events to identity_resolver;

-- The worker counts and deletes the events of every tenant. The functions below add, lease and end them.
create policy worker_queue on app.events to identity_worker using (true);
grant select (xact, id, occurred_at, due_at, leased_until, published_at, dead_at), delete on app.events to identity_worker;
create policy resolver_queue on app.events to identity_resolver using (true);
grant select,
    insert (id, tenant_id, occurred_at, action, actor_user_id, target_type, target_id, before, after),
    update (due_at, attempts, lease_token, leased_until, published_at, dead_at, last_error)
  on app.events to identity_resolver;

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

-- Adds the event of an audit entry, if its action is published.
create function app.add_event() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_keys text[];
  v_before jsonb;
  v_after jsonb;
begin
  select a.keys into v_keys from app.event_actions a where a.action = new.action;
  if found then
    if new.before is not null then
      v_before := app.leaving(new.before, v_keys);
    end if;
    if new.after is not null then
      v_after := app.leaving(new.after, v_keys);
    end if;
    insert into app.events (id, tenant_id, occurred_at, action, actor_user_id, target_type, target_id, before, after)
    values (new.id, new.tenant_id, new.occurred_at, new.action, new.actor_user_id, new.target_type, new.target_id,
            v_before, v_after);
  end if;
  return null;
end
$$;
comment on function app.add_event is
  'owner: identity_resolver; proof: none; callers: identity_owner; '
  'definer: adds an event, which no writer of an audit entry may';

-- Leases up to p_most due events, the oldest first, under one token. Concurrent publishers get disjoint events.
create function app.claim_events(p_most integer, p_lease_seconds integer)
  returns table (xact text, id uuid, tenant_id uuid, occurred_at timestamptz, action text, actor_user_id uuid,
                 target_type text, target_id uuid, before jsonb, after jsonb, attempts integer, lease_token uuid)
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
#variable_conflict use_column
begin
  return query
    with due as materialized (
      select e.xact, e.id from app.events e
       where e.published_at is null and e.dead_at is null and e.due_at <= now()
         and (e.leased_until is null or e.leased_until < now())
       order by e.xact, e.id limit p_most
       for update skip locked
    ), lease as materialized (
      select gen_random_uuid() as token
    )
    update app.events e
       set attempts = e.attempts + 1, lease_token = lease.token, leased_until = now() + make_interval(secs => p_lease_seconds)
      from due, lease where e.xact = due.xact and e.id = due.id
    returning e.xact::text, e.id, e.tenant_id, e.occurred_at, e.action, e.actor_user_id, e.target_type, e.target_id, e.before,
              e.after, e.attempts, e.lease_token;
end
$$;
comment on function app.claim_events is
  'owner: identity_resolver; proof: none; callers: identity_publisher; definer: leases events of all tenants';

-- Ends the lease of events, each as {xact, id, error, delay}: published without an error; with one due again after a delay in
-- seconds, or dead-lettered without a delay. Returns how many it ended: none that another publisher has leased since.
create function app.end_event_leases(p_lease_token uuid, p_outcomes jsonb) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_ended integer;
begin
  with ended as (
    update app.events e
       set lease_token = null, leased_until = null, last_error = left(o.error, 200),
           published_at = case when o.error is null then now() end,
           dead_at = case when o.error is not null and o.delay is null then now() end,
           due_at = now() + make_interval(secs => coalesce(o.delay, 0))
      from jsonb_to_recordset(p_outcomes) as o(xact xid8, id uuid, error text, delay double precision)
     where e.xact = o.xact and e.id = o.id and e.lease_token = p_lease_token
    returning e.id
  )
  select count(*) into v_ended from ended;
  return v_ended;
end
$$;
comment on function app.end_event_leases is
  'owner: identity_resolver; proof: lease; callers: identity_publisher; definer: ends leases of events of all tenants';

-- A new partition of the audit log gets the trigger from the owner, who therefore is a caller of app.add_event.
create trigger audit_log_adds_event after insert on app.audit_log for each row execute function app.add_event();

-- The class of each column (infra/data-classification.md).
comment on table app.event_actions is 'platform: action, keys';
comment on table app.deleted_events is 'platform: singleton, xact, id';
comment on table app.events is
  'linked: actor_user_id, target_id, before, after; tenant: xact, id, tenant_id, occurred_at, action, target_type; '
  'platform: due_at, attempts, lease_token, leased_until, published_at, dead_at, last_error';

select app.give('app.leaving', 'app.add_event', 'app.claim_events', 'app.end_event_leases');
