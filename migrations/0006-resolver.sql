-- The whole bypass of row security: two functions that read across tenants, for the holder of one live session and
-- never for an id that a caller chose. Their owner cannot log in, and reads only what these policies open to it.
set local role identity_owner;

grant select on app.tenants, app.memberships, app.roles to identity_resolver;
grant select (id, disabled_at) on app.users to identity_resolver;
grant select (id, user_id, tenant_id, user_agent, created_at, last_seen_at, idle_expires_at, absolute_expires_at, revoked_at)
  on app.sessions to identity_resolver;
create policy resolver_read on app.tenants for select to identity_resolver using (true);
create policy resolver_read on app.memberships for select to identity_resolver using (true);

-- The live memberships of the user of a live session: what there is to choose from before a tenant is chosen.
create function app.tenants_of_session(p_session uuid)
  returns table (membership_id uuid, tenant_id uuid, slug text, legal_name text, status text,
                 role_code text, role_label text, role_rank integer)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select m.id, t.id, t.slug, t.legal_name, t.status, r.code, r.label, r.rank
    from app.sessions s
    join app.users u on u.id = s.user_id and u.disabled_at is null
    join app.memberships m on m.user_id = s.user_id and m.accepted_at is not null and m.revoked_at is null
    join app.tenants t on t.id = m.tenant_id and t.deleted_at is null and t.status in ('trial', 'active', 'past_due')
    join app.roles r on r.id = m.role_id
   where s.id = p_session and s.revoked_at is null and s.idle_expires_at > now() and s.absolute_expires_at > now()
   order by t.legal_name, t.id
$$;

-- The live sessions of the user of a live session, newest use first, with the tenant that each is bound to.
create function app.sessions_of_session(p_session uuid)
  returns table (id uuid, user_agent text, created_at timestamptz, last_seen_at timestamptz, tenant_id uuid, slug text,
                 legal_name text, status text, timezone text, currency text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select o.id, o.user_agent, o.created_at, o.last_seen_at, t.id, t.slug, t.legal_name, t.status, t.timezone, t.currency
    from app.sessions s
    join app.users u on u.id = s.user_id and u.disabled_at is null
    join app.sessions o on o.user_id = s.user_id
    left join app.tenants t on t.id = o.tenant_id and t.deleted_at is null and t.status in ('trial', 'active', 'past_due')
    left join app.memberships m on m.tenant_id = o.tenant_id and m.user_id = o.user_id
          and m.accepted_at is not null and m.revoked_at is null
   where s.id = p_session and s.revoked_at is null and s.idle_expires_at > now() and s.absolute_expires_at > now()
     and o.revoked_at is null and o.idle_expires_at > now() and o.absolute_expires_at > now()
     and (o.tenant_id is null or (t.id is not null and m.id is not null))
   order by o.last_seen_at desc, o.id
$$;

revoke all on function app.tenants_of_session(uuid), app.sessions_of_session(uuid) from public;
grant execute on function app.tenants_of_session(uuid), app.sessions_of_session(uuid) to identity_app;
grant create on schema app to identity_resolver;
alter function app.tenants_of_session(uuid) owner to identity_resolver;
alter function app.sessions_of_session(uuid) owner to identity_resolver;
revoke create on schema app from identity_resolver;
