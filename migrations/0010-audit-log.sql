-- The audit log: who changed what, append-only for every role of the service. It is partitioned by year, and the parent
-- and each partition have the tenant guard.
set local role identity_owner;

create domain app.audit_action as text constraint audit_action_check check (value ~ '^[a-z_]+\.[a-z_]+$');
create domain app.audit_target as text constraint audit_target_check check (value ~ '^[a-z_]+$');

create table app.audit_log (
  id            uuid not null default gen_random_uuid(),
  tenant_id     uuid not null references app.tenants,
  occurred_at   timestamptz not null default clock_timestamp(),
  -- The user or the API key that acted (0027). Nulls: the platform.
  actor_user_id uuid default app.acting_user() references app.users,
  actor_key_id  uuid default app.acting_key(),
  action        app.audit_action not null,
  target_type   app.audit_target not null,
  target_id     uuid,
  before        jsonb,
  after         jsonb,
  request_id    app.request_id,
  -- What the client sent as x-request-id. Two requests may have the same.
  client_request_id app.request_id,
  ip_hash       app.hash,
  primary key (tenant_id, occurred_at, id),
  constraint audit_log_one_actor check (actor_user_id is null or actor_key_id is null)
) partition by range (occurred_at);
create index audit_log_by_actor on app.audit_log (tenant_id, actor_user_id, occurred_at, id);
create index audit_log_by_key on app.audit_log (tenant_id, actor_key_id, occurred_at, id) where actor_key_id is not null;
create index audit_log_by_action on app.audit_log (tenant_id, action, occurred_at, id);
-- Everything but the coming and going of members, which is most of a shop's entries (ROUTINE_ACTIONS in shared/audit/routine.ts).
create index audit_log_of_changes on app.audit_log (tenant_id, occurred_at, id)
  where action not in ('session.tenant_selected', 'session.signed_out');
select app.enforce_tenant('app.audit_log');

grant insert (tenant_id, action, target_type, target_id, before, after, request_id, client_request_id, ip_hash)
  on app.audit_log to identity_app, identity_operator, identity_vault;
-- Nobody writes an entry in the name of another: the actor is the one of the transaction's ticket, and null without a session or a key.
create policy actor_insert on app.audit_log as restrictive for insert
  to identity_app, identity_worker, identity_operator, identity_vault
  with check (actor_user_id is not distinct from (select app.acting_user()) and actor_key_id is not distinct from (select app.acting_key()));
grant select on app.audit_log to identity_app;
create policy gate_append on app.audit_log for insert to identity_gate with check (true);
comment on policy gate_append on app.audit_log is 'audits who selects and who leaves a tenant';
grant insert (tenant_id, actor_user_id, actor_key_id, action, target_type, target_id, before, after, request_id, client_request_id, ip_hash)
  on app.audit_log to identity_gate;
create policy resolver_append on app.audit_log for insert to identity_resolver with check (true);
comment on policy resolver_append on app.audit_log is 'audits a change of a user in every tenant of theirs';
grant insert (tenant_id, occurred_at, actor_user_id, action, target_type, target_id, after, request_id, client_request_id, ip_hash)
  on app.audit_log to identity_resolver;

-- Stores the rows of a year that has no partition, until app.create_audit_partition moves them.
create table app.audit_log_default partition of app.audit_log default;
select app.enforce_tenant('app.audit_log_default');

-- Creates the partition of a day's year (UTC) with its guard, and moves the year's rows from the default partition into it. Row
-- security binds the owner too, so temporary policies allow the move. Calling it again restores a guard that is not the parent's,
-- and changes nothing else: a change locks the partition against every entry.
-- Locks in the order of a transaction that writes an entry: tenants, users, the log. So they do not deadlock. Raises 55P03 when another
-- transaction has one of the locks for half a second, because writes wait behind it: call it again. Until the end of the
-- transaction no lock is waited for longer.
-- The partition is attached while it is empty. Postgres would lock tenants and users against every access to check foreign keys of rows.
-- Raises 22023 unless the day's year (UTC) is one of the last two, the current one or the next.
create function app.create_audit_partition(p_day date) returns regclass
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  -- A migration calls it with row_security off.
  set row_security = on
  as $$
declare
  v_from timestamptz := date_trunc('year', p_day::timestamp) at time zone 'UTC';
  v_to timestamptz := (date_trunc('year', p_day::timestamp) + interval '1 year') at time zone 'UTC';
  v_table text := format('app.%I', 'audit_log_' || to_char(p_day, 'YYYY'));
begin
  if extract(year from p_day) - extract(year from now() at time zone 'UTC') not between -2 and 1 then
    raise exception 'a partition is for a year from two years ago to one year ahead' using errcode = '22023';
  end if;
  perform pg_advisory_xact_lock(hashtext('app.create_audit_partition'));
  if to_regclass(v_table) is null then
    perform set_config('lock_timeout', '500ms', true);
    -- Lock the log before moving rows. Otherwise Postgres rejects a concurrent insert that it has already routed to the default partition.
    lock table app.tenants, app.users, app.audit_log in share row exclusive mode;
    execute format('create table %s (like app.audit_log including defaults including constraints)', v_table);
    create policy owner_moves on app.audit_log_default to identity_owner using (true);
    create table app.audit_log_moving (like app.audit_log);
    with moved as (delete from app.audit_log_default where occurred_at >= v_from and occurred_at < v_to returning *)
    insert into app.audit_log_moving select * from moved;
    drop policy owner_moves on app.audit_log_default;
    execute format('alter table app.audit_log attach partition %s for values from (%L) to (%L)', v_table, v_from, v_to);
    if exists (select from app.audit_log_moving) then
      execute format('create policy owner_moves on %s to identity_owner using (true)', v_table);
      -- The events of these entries were added when they were written.
      execute format('alter table %s disable trigger user', v_table);
      execute format('insert into %s select * from app.audit_log_moving', v_table);
      execute format('alter table %s enable trigger user', v_table);
      execute format('drop policy owner_moves on %s', v_table);
    end if;
    drop table app.audit_log_moving;
  end if;
  if exists (
    select p.polname, p.polcmd, p.polpermissive, p.polroles, pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)
      from pg_policy p where p.polrelid = 'app.audit_log'::regclass and p.polname like 'tenant%'
    except
    select p.polname, p.polcmd, p.polpermissive, p.polroles, pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)
      from pg_policy p where p.polrelid = v_table::regclass)
     or not (select c.relrowsecurity and c.relforcerowsecurity from pg_class c where c.oid = v_table::regclass) then
    perform app.enforce_tenant(v_table::regclass);
  end if;
  return v_table::regclass;
end
$$;
comment on function app.create_audit_partition is
  'proof: none; callers: identity_worker, identity_operator; definer: creates a table as the owner of its parent';

select app.create_audit_partition((day at time zone 'UTC')::date) from unnest(array[now(), now() + interval '3 months']) as day;

-- Returns the form in which the audit log of a tenant holds the keyed hash of an address. One address has another in each
-- tenant, so that tenants who compare their logs do not link people. Without the first hash nobody can compute the second.
create function app.tenant_ip_hash(p_ip_hash bytea, p_tenant uuid) returns bytea
  language sql immutable parallel safe
  return sha256(p_ip_hash || uuid_send(p_tenant));
comment on function app.tenant_ip_hash is
  'callers: identity_app, identity_operator, identity_vault, identity_resolver, identity_gate';

-- Failed sign-ins that are not yet in the audit logs. Each is one row, however many tenants the user has, also for an
-- unknown user, so that response time reveals neither. The job `audit-sign-ins` moves them. There is no foreign key to
-- app.users, because only known users would pay for its check.
create table app.failed_sign_ins (
  id                bigint generated always as identity primary key,
  user_id           uuid,
  request_id        app.request_id,
  client_request_id app.request_id,
  ip_hash           app.hash,
  occurred_at       timestamptz not null default clock_timestamp(),
  -- What failed: null is the password.
  step              text check (step = 'second_factor')
);
grant insert (user_id, request_id, client_request_id, ip_hash, step) on app.failed_sign_ins to identity_gate;
-- FOR UPDATE requires UPDATE on some column.
grant select, delete, update (id) on app.failed_sign_ins to identity_resolver;

-- Moves up to p_most failed sign-ins to the audit logs of the tenants where the user was a member at that time. Returns how
-- many it took. Concurrent calls take different ones.
create function app.audit_failed_sign_ins(p_most integer) returns integer
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_taken integer;
begin
  with taken as (
    delete from app.failed_sign_ins where id in (
      select f.id from app.failed_sign_ins f order by f.id limit p_most for update skip locked)
    returning *
  ), audited as (
    insert into app.audit_log (tenant_id, occurred_at, action, target_type, target_id, request_id, client_request_id, ip_hash)
    select m.tenant_id, f.occurred_at,
           case when f.step is null then 'session.sign_in_failed' else 'user.second_factor_failed' end, 'user', f.user_id, f.request_id, f.client_request_id,
           app.tenant_ip_hash(f.ip_hash, m.tenant_id)
      from taken f
      join app.memberships m on m.user_id = f.user_id
       and m.accepted_at <= f.occurred_at and coalesce(m.revoked_at > f.occurred_at, true)
  )
  select count(*) into v_taken from taken;
  return v_taken;
end
$$;
comment on function app.audit_failed_sign_ins is
  'owner: identity_resolver; proof: none; callers: identity_worker; definer: writes the audit logs of all tenants of a user';

-- Ends every session of a user except p_kept, and records the user's new password in each of their tenants. Wrong codes of a second factor no
-- longer count: whoever tried them does not know the new password.
create function app.record_new_password(
    p_user uuid, p_kept uuid, p_action text, p_source app.source)
  returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform app.end_sessions_of(p_user, null, p_kept, 'session.revoked', p_source);
  update app.factors f set wrong_codes = 0 where f.user_id = p_user and f.wrong_codes > 0;
  delete from app.rate_limits r where r.part_of = (app.factor_limit(p_user, 'all', 1, 1)).key;
  insert into app.audit_log (tenant_id, actor_user_id, action, target_type, target_id, request_id, client_request_id, ip_hash)
  select m.tenant_id, p_user, p_action, 'user', p_user, p_source.request_id, p_source.client_request_id,
         app.tenant_ip_hash(p_source.ip_hash, m.tenant_id)
    from app.memberships m where m.user_id = p_user and m.accepted_at is not null and m.revoked_at is null;
end
$$;
comment on function app.record_new_password is 'callers: identity_gate';

-- The class of each column (infra/data-classification.md).
comment on table app.audit_log is
  'personal: before, after; linked: actor_user_id, actor_key_id, target_id, ip_hash; '
  'tenant: id, tenant_id, occurred_at, action, target_type, request_id, client_request_id; '
  'kept: always, as the record of who did what';
comment on table app.failed_sign_ins is
  'linked: user_id, ip_hash; platform: id, request_id, client_request_id, occurred_at, step; '
  'kept: a minute, by app.audit_failed_sign_ins';

select app.give(
  'app.create_audit_partition', 'app.tenant_ip_hash', 'app.audit_failed_sign_ins',
  'app.record_new_password');
