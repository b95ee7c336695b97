-- Service keys: what a service of the platform shows to the API instead of a session. By its scopes it asks about sessions, and reads
-- the events and the memberships of all tenants. Operators create, rotate and revoke them. No role deletes a row: the rows are also the record of who did
-- what, when and why.
set local role identity_owner;

create table app.service_keys (
  id             uuid primary key default gen_random_uuid(),
  name           text not null check (name ~ '^[a-z][a-z0-9-]{0,62}$'),
  key_hash       bytea not null unique check (length(key_hash) = 32),
  -- What it is for: SERVICE_SCOPES (shared/identity/service-key.ts). A test compares both.
  scopes         text[] not null check (scopes <@ array['introspect', 'changes', 'memberships'] and cardinality(scopes) > 0),
  created_at     timestamptz not null default now(),
  created_by     text not null,
  created_reason text not null,
  -- The key is valid until then. Rotation sets it.
  expires_at     timestamptz,
  revoked_at     timestamptz,
  -- Who rotated or revoked it.
  ended_by       text,
  ended_reason   text,
  -- To the hour.
  used_at        timestamptz
);
create index service_keys_by_name on app.service_keys (name);

-- No statistics: see app.tenants.
alter table app.service_keys
  alter column key_hash set statistics 0,
  alter column created_by set statistics 0,
  alter column created_reason set statistics 0,
  alter column ended_by set statistics 0,
  alter column ended_reason set statistics 0;

create trigger service_keys_stay_revoked before update of revoked_at on app.service_keys
  for each row when (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
  execute function app.refuse_change('a revoked key stays revoked');

grant select (id, name, scopes, created_at, created_by, created_reason, expires_at, revoked_at, ended_by, ended_reason, used_at),
  insert (name, key_hash, scopes, created_by, created_reason), update (expires_at, revoked_at, ended_by, ended_reason)
  on app.service_keys to identity_operator;
grant select, update (key_hash, used_at) on app.service_keys to identity_gate;

-- Returns the name of the service whose valid key has one of two hashes, or null. Raises TN403 when that key lacks the scope. During a rotation of the pepper it stores the
-- current hash of a key that it finds by the previous one, because nothing else knows both.
create function app.service_of_key(p_name text, p_key bytea, p_previous bytea, p_scope text) returns text
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_key app.service_keys;
begin
  select * into v_key from app.service_keys k
   where k.key_hash in (p_key, p_previous) and k.name = p_name and k.revoked_at is null
     and (k.expires_at is null or k.expires_at > now());
  if found and not p_scope = any (v_key.scopes) then
    raise exception 'the key of the service lacks the scope %', p_scope using errcode = 'TN403';
  end if;
  if found and (v_key.key_hash <> p_key or v_key.used_at is null or v_key.used_at < now() - interval '1 hour') then
    update app.service_keys k set key_hash = p_key, used_at = now() where k.id = v_key.id and k.key_hash = v_key.key_hash;
  end if;
  return v_key.name;
end
$$;
comment on function app.service_of_key is
  'owner: identity_gate; proof: service key; callers: identity_resolver; definer: reads the hashes of service keys';

-- The decision of the session check for another service, in one round trip. Returns no row without a valid key of the service. Else
-- it returns one row: the live session of a token hash in its tenant, with the later time of its sign-in and its last step-up and whether a
-- second factor was proven, or nulls. It is seen by this, as by any request. With p_of_key the hash is that of an API key, which has its
-- id as `api_key_id`, and neither session, user nor role. Such a question does not count against the limit of the key.
create function app.introspect(
    p_name text, p_key bytea, p_key_previous bytea, p_token bytea, p_token_previous bytea,
    p_idle_seconds integer, p_step_seconds integer, p_of_key boolean default false)
  returns table (session_id uuid, expires_at timestamptz, user_id uuid, tenant_id uuid, role_code text, permissions jsonb,
                 auth_time timestamptz, second_factor boolean, api_key_id uuid)
  language plpgsql volatile security definer rows 1
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_found record;
begin
  if app.service_of_key(p_name, p_key, p_key_previous, 'introspect') is null then
    return;
  end if;
  if p_of_key then
    -- A function of 0027, which owns keys.
    select * into v_found from app.authenticate_key(p_token, p_token_previous, null);
    api_key_id := v_found.key_id;
    expires_at := v_found.expires_at;
    tenant_id := v_found.tenant_id;
    permissions := v_found.permissions;
    return next;
    return;
  end if;
  select * into v_found from app.authenticate(p_token, p_idle_seconds, p_step_seconds);
  if not found and p_token_previous is not null then
    select * into v_found from app.authenticate(p_token_previous, p_idle_seconds, p_step_seconds);
  end if;
  if v_found.tenant_id is not null then
    session_id := v_found.session_id;
    expires_at := v_found.idle_expires_at;
    user_id := v_found.user_id;
    tenant_id := v_found.tenant_id;
    role_code := v_found.role_code;
    permissions := v_found.permissions;
    auth_time := greatest(v_found.signed_in_at, v_found.stepped_up_at);
    second_factor := v_found.second_factor_at is not null;
  end if;
  return next;
end
$$;
comment on function app.introspect is
  'owner: identity_gate; proof: service key, token hash; callers: identity_services; definer: reads sessions and API keys of all tenants';

-- The events of all tenants after a position, or from the oldest on without one. Returns no row without a valid key of a service.
-- Without an event it returns a row whose id is null, and whose `xact` begins what is not read yet. It shows no event of a
-- transaction that began after one that has not ended: an event that commits later than another always comes after it. Raises TN410
-- for a position after which an event was deleted, and for one that this cluster has not reached. Deletions are looked at
-- after the events, so that none happens in between unseen. `held_back` is true in each row when such a transaction holds back an
-- event that has committed.
create function app.changes(
    p_name text, p_key bytea, p_key_previous bytea, p_xact xid8, p_id uuid, p_most integer)
  returns table (xact text, id uuid, tenant_id uuid, occurred_at timestamptz, action text, actor_user_id uuid, actor_key_id uuid, target_type text,
                 target_id uuid, target_user_id uuid, before jsonb, after jsonb, held_back boolean)
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  -- Postgres keeps one plan, which reads the events in their order. A plan that is kept does not know the limit, so Postgres would take it
  -- for expensive, and plan each call anew.
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_sort = off
  as $$
begin
  if app.service_of_key(p_name, p_key, p_key_previous, 'changes') is null then
    return;
  end if;
  return query
    select coalesce(e.xact, pg_snapshot_xmin(pg_current_snapshot()))::text, e.id, e.tenant_id, e.occurred_at, e.action,
           e.actor_user_id, e.actor_key_id, e.target_type, e.target_id, e.target_user_id, e.before, e.after,
           exists (select from app.events h where h.xact >= pg_snapshot_xmin(pg_current_snapshot()))
      from (values (true)) as proven
      left join (
        select * from app.events o
         where (o.xact, o.id) > (coalesce(p_xact, '0'), coalesce(p_id, '00000000-0000-0000-0000-000000000000')) and o.xact < pg_snapshot_xmin(pg_current_snapshot())
         order by o.xact, o.id limit p_most
      ) e on true
     order by e.xact, e.id;
  -- After a restore to another cluster, the last deleted place may be one that it has not reached. It says nothing there.
  if p_xact > pg_snapshot_xmax(pg_current_snapshot())
     or exists (select from app.deleted_events d
                 where (p_xact, p_id) < (d.xact, d.id) and d.xact < pg_snapshot_xmax(pg_current_snapshot())) then
    raise exception 'an event after this position may be deleted' using errcode = 'TN410';
  end if;
end
$$;
comment on function app.changes is
  'owner: identity_resolver; proof: service key; callers: identity_services; definer: reads events of all tenants';

-- The members and former members of a tenant, or of all tenants with null, oldest first, after a position. Returns no row without a
-- valid key of a service. Without a member it returns a row whose id is null. It returns nobody who was only invited: nobody
-- learns whether an address has a user. `xact` begins the events that the rows may lack: what committed before it is in them.
-- `live` is whether the membership gives access now.
create function app.memberships_of_tenants(
    p_name text, p_key bytea, p_key_previous bytea, p_tenant uuid, p_after timestamptz, p_after_id uuid, p_most integer)
  returns table (xact text, id uuid, tenant_id uuid, user_id uuid, role_code text, permissions jsonb, live boolean,
                 accepted_at text, revoked_at text, created_at text)
  language plpgsql volatile security definer rows 50
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
declare
  -- Before the rows are read.
  v_xact text := pg_snapshot_xmin(pg_current_snapshot());
  v_ids uuid[];
begin
  if app.service_of_key(p_name, p_key, p_key_previous, 'memberships') is null then
    return;
  end if;
  if p_tenant is null then
    v_ids := array(select m.id from app.memberships m
                    where m.accepted_at is not null and (m.created_at, m.id) > (p_after, p_after_id)
                    order by m.created_at, m.id limit p_most);
  else
    v_ids := array(select m.id from app.memberships m
                    where m.tenant_id = p_tenant and m.accepted_at is not null and (m.created_at, m.id) > (p_after, p_after_id)
                    order by m.created_at, m.id limit p_most);
  end if;
  return query
    select v_xact, m.id, m.tenant_id, m.user_id, r.code, r.permissions,
           m.revoked_at is null and u.disabled_at is null and t.deleted_at is null and app.is_open(t.status),
           m.accepted_at::text, m.revoked_at::text, m.created_at::text
      from (values (true)) as proven
      left join (app.memberships m
                 join app.users u on u.id = m.user_id
                 join app.tenants t on t.id = m.tenant_id
                 join app.roles r on r.id = m.role_id) on m.id = any (v_ids)
     order by m.created_at, m.id;
end
$$;
comment on function app.memberships_of_tenants is
  'owner: identity_gate; proof: service key; callers: identity_services; definer: reads memberships of all tenants';

-- The class of each column (infra/data-classification.md).
comment on table app.service_keys is
  'secret: key_hash; personal: created_by, created_reason, ended_by, ended_reason; '
  'platform: id, name, scopes, created_at, expires_at, revoked_at, used_at; '
  'kept: always, as the record of who created and ended it';

select app.give('app.service_of_key', 'app.introspect', 'app.changes', 'app.memberships_of_tenants');
