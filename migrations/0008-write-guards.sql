-- The first statement of every write: it locks the request's session and membership, and checks them and the permission
-- again. No write commits after the service has confirmed a revocation, a change of role or the loss of a permission.
--
-- Lock order, for every transaction: tenant row, user (advisory), user in a tenant (advisory), membership row, session row.
-- A transaction that takes these locks in another order can deadlock.
--
-- Row locks alone are not enough. While a change waits for a row, later FOR SHARE locks still succeed. So a user who never
-- stops writing could postpone their own revocation. Advisory locks queue: writes that begin after app.lock_user wait for it.
set local role identity_owner;

-- Blocks later writes of a user until the transaction ends, and waits for those in progress. Call it before ending a
-- user's sessions or disabling the user.
create function app.lock_user(p_user uuid) returns void
  language sql volatile
  return pg_advisory_xact_lock(hashtextextended(p_user::text, 0));
comment on function app.lock_user is 'callers: identity_operator, identity_resolver, identity_gate';

-- Blocks and waits like app.lock_user, but only for the user's writes in the transaction's tenant.
create function app.lock_member(p_user uuid) returns void
  language sql volatile
  return pg_advisory_xact_lock(hashtextextended(app.current_tenant()::text || p_user::text, 0));
comment on function app.lock_member is 'callers: identity_app';

-- Sets the tenant and the actor of a ticket for a read. Requires a READ ONLY transaction, which nothing can make READ WRITE again, so the
-- scope of a read never writes. It checks no table again: the session check found the ticket's tenant in this request.
-- Every read calls it, so it repeats app.check_ticket and app.set_tenant in line and with qualified names.
create function app.enter_to_read(p_ticket bytea) returns void
  language plpgsql security definer
  as $$
declare
  v_scope_key pg_catalog.bytea;
  v_ticket_key pg_catalog.bytea;
  v_set pg_catalog.text;
begin
  select s.scope_key, s.ticket_key into v_scope_key, v_ticket_key from app.seal s;
  if pg_catalog.substr(p_ticket, 61) operator(pg_catalog.=) pg_catalog.sha256(v_ticket_key operator(pg_catalog.||) pg_catalog.substr(p_ticket, 1, 60))
     and pg_catalog.substr(p_ticket, 53, 8) operator(pg_catalog.>) pg_catalog.timestamptz_send(pg_catalog.clock_timestamp())
     and pg_catalog.substr(p_ticket, 1, 16) operator(pg_catalog.<>) '\x00000000000000000000000000000000'::pg_catalog.bytea
     and pg_catalog.current_setting('transaction_read_only') operator(pg_catalog.=) 'on' then
    v_set := pg_catalog.set_config('app.scope', pg_catalog.encode(pg_catalog.substr(p_ticket, 1, 32), 'hex'), true);
    v_set := pg_catalog.set_config('app.scope_seal', pg_catalog.encode(pg_catalog.sha256(v_scope_key
      operator(pg_catalog.||) pg_catalog.substr(p_ticket, 1, 32)
      operator(pg_catalog.||) pg_catalog.timestamptz_send(pg_catalog.transaction_timestamp())), 'hex'), true);
    return;
  end if;
  perform app.check_ticket(p_ticket);
  raise exception 'a read needs a ticket with a tenant, and a READ ONLY transaction' using errcode = 'TN500';
end
$$;
comment on function app.enter_to_read is
  'owner: identity_gate; proof: ticket; callers: identity_app, identity_worker, identity_operator, identity_vault; '
  'definer: reads the keys that seal tickets and the scope; qualified: every read calls it';

-- Sets the tenant and the actor of a ticket for a write. Raises TN401 when the session or its membership is no longer live in the tenant,
-- and TN403 when the role changed, lacks the permission, or the session has selected another tenant.
--   p_exclusive  also locks the tenant, so that writes that depend on other members' rows take turns
-- Locks the membership FOR SHARE, so that every change of it waits. Locks the session FOR KEY SHARE: a revocation waits
-- (sessions_revocation_is_a_key_change), and an update of the idle expiry does not.
-- A ticket without a session holds no permission and has nothing to lock. Like app.enter_to_read it repeats app.check_ticket and
-- app.set_tenant in line.
create function app.enter_to_write(p_ticket bytea, p_permission text, p_exclusive boolean) returns void
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_scope_key bytea;
  v_ticket_key bytea;
  v_scope bytea := substr(p_ticket, 1, 32);
  v_tenant uuid;
  v_user uuid;
  v_session uuid;
  v_role integer;
  v_bound uuid;
begin
  select s.scope_key, s.ticket_key into v_scope_key, v_ticket_key from app.seal s;
  if (substr(p_ticket, 61) = sha256(v_ticket_key || substr(p_ticket, 1, 60))
      and substr(p_ticket, 53, 8) > timestamptz_send(clock_timestamp())
      and substr(p_ticket, 1, 16) <> '\x00000000000000000000000000000000') is not true then
    perform app.check_ticket(p_ticket);
    raise exception 'a write needs a ticket with a tenant' using errcode = 'TN401';
  end if;
  v_tenant := encode(substr(p_ticket, 1, 16), 'hex');
  v_user := encode(substr(p_ticket, 17, 16), 'hex');
  v_session := encode(substr(p_ticket, 33, 16), 'hex');
  if v_user = '00000000-0000-0000-0000-000000000000' then
    if substr(p_ticket, 49, 4) = int4send(-1) then
      raise exception 'the ticket is for reading' using errcode = 'TN403';
    end if;
    perform app.set_tenant(v_tenant);
    return;
  end if;
  if p_exclusive then
    perform from app.tenants t where t.id = v_tenant for no key update;
  end if;
  perform pg_advisory_xact_lock_shared(hashtextextended(v_user::text, 0));
  perform pg_advisory_xact_lock_shared(hashtextextended(v_tenant::text || v_user::text, 0));
  select m.role_id into v_role from app.memberships m
   where m.tenant_id = v_tenant and m.user_id = v_user
     and m.accepted_at is not null and m.revoked_at is null for share;
  if found then
    select s.tenant_id into v_bound from app.sessions s
      where s.id = v_session and (s.revoked_at is null
        and s.idle_expires_at > now() and s.absolute_expires_at > now()) is not false for key share;
  end if;
  if not found then
    raise exception 'the session is no longer live in this tenant' using errcode = 'TN401';
  end if;
  if v_bound is distinct from v_tenant then
    raise exception 'the session has selected another tenant' using errcode = 'TN403';
  end if;
  perform from app.roles r
    where r.id = v_role and int4send(v_role) = substr(p_ticket, 49, 4) and r.permissions ?| array[p_permission, '*'];
  if not found then
    raise exception 'the role no longer holds the permission' using errcode = 'TN403';
  end if;
  perform set_config('app.scope', encode(v_scope, 'hex'), true),
          set_config('app.scope_seal', encode(sha256(v_scope_key || v_scope || timestamptz_send(transaction_timestamp())), 'hex'), true);
end
$$;
comment on function app.enter_to_write is
  'owner: identity_gate; proof: ticket; callers: identity_app, identity_worker, identity_operator, identity_vault; '
  'definer: checks session, membership and role before the tenant is set, and seals the scope';

-- Guards a write that needs a session and no tenant. Raises TN401 when the ticket's session is no longer live. Sets no tenant.
-- Locks the user exclusively. With shared locks, two such writes of one user would deadlock when both end sessions,
-- because app.end_sessions takes the exclusive lock. A write of a session with a tenant also waits for app.lock_member.
create function app.enter_session(p_ticket bytea) returns void
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
declare
  v_ticket record := app.check_ticket(p_ticket);
  v_tenant uuid;
begin
  select s.tenant_id into v_tenant from app.sessions s where s.id = v_ticket.session_id;
  perform app.lock_user(v_ticket.user_id);
  if v_tenant is not null then
    perform pg_advisory_xact_lock_shared(hashtextextended(v_tenant::text || v_ticket.user_id::text, 0));
  end if;
  perform from app.sessions s
    where s.id = v_ticket.session_id and (s.revoked_at is null
      and s.idle_expires_at > now() and s.absolute_expires_at > now()) is not false for key share;
  if not found then
    raise exception 'the session is no longer live' using errcode = 'TN401';
  end if;
end
$$;
comment on function app.enter_session is
  'owner: identity_gate; proof: ticket; callers: identity_auth, identity_app; '
  'definer: locks a session before a tenant is known';

-- Returns the ticket of an operator. Writes tenant and reason to the server's log, which keeps them when the transaction rolls
-- back.
create function app.operator_ticket(p_tenant uuid, p_reason text) returns bytea
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set client_min_messages = warning
  as $$
begin
  if coalesce(p_reason, '') = '' then
    raise exception 'an operator enters a tenant with a reason' using errcode = '22023';
  end if;
  raise log 'operator enters tenant %: %', p_tenant, left(p_reason, 200);
  return app.platform_ticket(p_tenant, true);
end
$$;
comment on function app.operator_ticket is
  'owner: identity_gate; proof: none; callers: identity_operator; definer: seals a ticket';

select app.give(
  'app.lock_user', 'app.lock_member', 'app.enter_to_read', 'app.enter_to_write', 'app.enter_session', 'app.operator_ticket');
