-- The door for other services on this database. Each has a schema and roles of its own. A member of tenant_bound enters a tenant
-- by a proof, and then reaches rows of that tenant in its own tables. It reads no table of this schema.
set local role identity_owner;

-- The tenants that a service may enter for its background work. Operators grant and revoke them one by one.
create table app.service_tenants (
  role       name not null,
  -- The role of that name at the time of the grant. A later role of the same name is another one.
  role_oid   oid,
  tenant_id  uuid not null references app.tenants,
  granted_at timestamptz not null default now(),
  revoked_at timestamptz,
  primary key (tenant_id, role)
);
select app.enforce_tenant('app.service_tenants');

-- Binds a grant to the role that has the name now.
create function app.bind_grant() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  new.role_oid := (select r.oid from pg_roles r where r.rolname = new.role);
  return new;
end
$$;
comment on function app.bind_grant is 'callers: none';
create trigger service_tenants_bind_grant before insert or update of granted_at, role_oid on app.service_tenants
  for each row execute function app.bind_grant();

grant select, insert (tenant_id, role), update (granted_at, revoked_at) on app.service_tenants to identity_operator;
create policy gate on app.service_tenants to identity_gate using (true);
comment on policy gate on app.service_tenants is 'reads the grants of a service';
-- SELECT … FOR SHARE requires UPDATE on some column.
grant select, update (granted_at) on app.service_tenants to identity_gate;
comment on table app.service_tenants is
  'tenant: role, tenant_id, granted_at, revoked_at; platform: role_oid; '
  'kept: always, as the record of who may enter';

-- Returns the proof of a session or an API key for another service, or null for a session without a tenant. A proof lasts a minute, longer than a
-- request and the few seconds for which a service may keep what it was told.
create function app.service_proof(p_ticket bytea) returns bytea
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_ticket record := app.check_ticket(p_ticket, 'session', 'key');
begin
  if v_ticket.tenant_id is null then
    return null;
  end if;
  return app.proof_of_ticket(p_ticket);
end
$$;
comment on function app.service_proof is
  'owner: identity_gate; proof: ticket; callers: identity_app; definer: reads the key that seals proofs';

-- Enters the tenant of a proof until the transaction ends. Raises TN500 unless this database sealed the proof, TN401 when it
-- expired or its session or API key is no longer live in the tenant, TN403 when the role changed or lacks the permission, and then TN428
-- when the session has not stepped up in the last p_step_up_seconds. A key never steps up: TN403.
-- In a READ ONLY transaction it checks the session or key without locks, and a null permission is none to check. In another one it
-- locks and checks as app.enter_to_write does: no write commits after a revocation was confirmed.
create function app.enter(p_proof bytea, p_permission text, p_step_up_seconds integer default null) returns void
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  set enable_seqscan = off
  set plan_cache_mode = force_generic_plan
  as $$
declare
  v_ticket bytea := app.ticket_of_proof(p_proof);
  v_found record;
  v_live app.live_sessions;
begin
  if current_setting('transaction_read_only') = 'off' then
    if p_permission is null then
      raise exception 'a write needs a permission' using errcode = '22004';
    end if;
    perform app.enter_to_write(v_ticket, p_permission, false, p_step_up_seconds);
    return;
  end if;
  v_found := app.check_ticket(v_ticket, 'session', 'key');
  if v_found.kind = 'key' then
    perform app.require_api_key(v_found.tenant_id, v_found.key_id, v_found.generation, p_permission, p_step_up_seconds);
    perform app.set_tenant(v_found.tenant_id, p_key => v_found.key_id);
    return;
  end if;
  select l.* into v_live from app.live_sessions l where l.session_id = v_found.session_id;
  if not found then
    raise exception 'the session is no longer live in this tenant' using errcode = 'TN401';
  end if;
  if v_live.tenant_id is distinct from v_found.tenant_id then
    raise exception 'the session has selected another tenant' using errcode = 'TN403';
  end if;
  if v_live.role_id is distinct from v_found.role_id or not (p_permission is null or app.holds(v_live.permissions, p_permission)) then
    raise exception 'the role no longer holds the permission' using errcode = 'TN403';
  end if;
  perform app.check_step_up(v_live.stepped_up_at, p_step_up_seconds);
  perform app.set_tenant(v_live.tenant_id, v_live.user_id);
end
$$;
comment on function app.enter is
  'owner: identity_gate; proof: tenant proof; callers: tenant_bound; '
  'definer: checks the session of a proof before the tenant is set, and seals the scope';

-- Enters a tenant for the background work of the login. Writes an audit entry, and a line of the server's log, which keeps it when the
-- transaction rolls back. Raises TN403 unless an operator granted the
-- tenant to the login, which is the role of that time and not a later one of its name, and the tenant is open. It locks the grant before it reads the tenant, so that whoever revokes the grant or closes
-- the tenant waits for the work, and later work finds the change.
create function app.enter_as_service(p_tenant uuid) returns void
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  perform from app.service_tenants s
    where s.tenant_id = p_tenant and s.role = session_user and s.revoked_at is null
      and s.role_oid = (select r.oid from pg_roles r where r.rolname = session_user) for share;
  if not found then
    raise exception 'no operator granted this tenant to the service' using errcode = 'TN403';
  end if;
  perform from app.tenants t where t.id = p_tenant and t.deleted_at is null and app.is_open(t.status);
  if not found then
    raise exception 'the tenant is not open' using errcode = 'TN403';
  end if;
  raise log 'service % enters tenant %', session_user, p_tenant;
  insert into app.audit_log (tenant_id, action, target_type, after)
  values (p_tenant, 'service.entered', 'service', jsonb_build_object('role', session_user));
  perform app.set_tenant(p_tenant);
end
$$;
comment on function app.enter_as_service is
  'owner: identity_gate; proof: grant; callers: tenant_bound; '
  'definer: checks the grant of a tenant before it is set, and seals the scope';

select app.give('app.service_proof', 'app.enter', 'app.enter_as_service', 'app.bind_grant');
