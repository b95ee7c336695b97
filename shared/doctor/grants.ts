import type postgres from 'postgres'

/**
 * Every privilege in the schema but the owner's own, by who holds it. A new grant is a new line here, and one that is
 * not listed is a fault of the database.
 */
export const GRANTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  identity_app: {
    app: 'usage',
    'app.audit_log':
      'insert(tenant_id, actor_user_id, action, target_type, target_id, before, after, request_id, ip_hash), select',
    'app.authenticate(bytea, integer)': 'execute',
    'app.count_attempt(bytea, integer, integer)': 'execute',
    'app.current_tenant()': 'execute',
    'app.end_sessions(uuid, uuid, boolean, text, text, bytea)': 'execute',
    'app.enqueue(text, jsonb, text)': 'execute',
    'app.enter_session(uuid)': 'execute',
    'app.enter_tenant(uuid, uuid, smallint, text, boolean)': 'execute',
    'app.is_open(text)': 'execute',
    'app.lock_member(uuid)': 'execute',
    'app.lock_user(uuid)': 'execute',
    'app.invitations': 'select',
    'app.live_sessions': 'select',
    'app.memberships':
      'insert(id, tenant_id, user_id, role_id, invited_by, accepted_at), select, update(role_id, invited_by, accepted_at, revoked_at)',
    'app.rate_limits': 'delete, insert, select, update',
    'app.record_failed_sign_in(uuid, text, bytea)': 'execute',
    'app.record_own_change(uuid, text, text, bytea)': 'execute',
    'app.resolve_size(text)': 'execute',
    'app.role_permissions': 'select',
    'app.roles': 'select',
    'app.select_tenant(uuid, uuid, integer)': 'execute',
    'app.sessions':
      'insert(id, token_key, user_id, idle_expires_at, absolute_expires_at, csrf_secret, ip_hash, user_agent), select, update(tenant_id, idle_expires_at, last_seen_at, revoked_at)',
    'app.sessions_of_session(uuid)': 'execute',
    'app.set_tenant(uuid)': 'execute',
    'app.size_aliases': 'select',
    'app.sizes': 'select',
    'app.styles':
      'delete, insert(id, tenant_id, style_number, name, brand, category, vendors), select, update(tenant_id, style_number, name, brand, category, vendors)',
    'app.tenants': 'select, update(settings)',
    'app.tenants_of_session(uuid)': 'execute',
    'app.tokens':
      'delete, insert(token_hash, purpose, user_id, tenant_id, email, role_id, invited_by, expires_at), select, update(token_hash, user_id, role_id, invited_by, expires_at, consumed_at)',
    'app.vendor_accounts':
      'insert(id, tenant_id, vendor, label, account_number, status, verified_at, checked_at, last_error, created_by, sealed_secret, data_key_id), select(id, tenant_id, vendor, label, account_number, status, verified_at, checked_at, last_error, created_by, created_at, rotated_at, revoked_at, secret_version), update(status, verified_at, checked_at, last_error, rotated_at, revoked_at, secret_version, sealed_secret, data_key_id)',
    'app.vendors': 'select',
    'app.users':
      'insert(id, email, email_verified_at, password_hash, full_name), select, update(email_verified_at, password_hash, full_name, avatar_url, last_login_at)',
  },
  identity_operator: {
    app: 'usage',
    'app.audit_log':
      'insert(tenant_id, actor_user_id, action, target_type, target_id, before, after, request_id, ip_hash)',
    'app.current_tenant()': 'execute',
    'app.enqueue(text, jsonb, text)': 'execute',
    'app.is_open(text)': 'execute',
    'app.lock_user(uuid)': 'execute',
    'app.memberships': 'insert(tenant_id, user_id, role_id), select',
    'app.roles': 'select',
    'app.sessions': 'select(id, user_id, tenant_id, revoked_at), update(revoked_at)',
    'app.set_tenant(uuid)': 'execute',
    'app.tenants':
      'insert(id, slug, legal_name, timezone, currency), select(id, slug, legal_name, status, timezone, currency, suspended_at, created_at, deleted_at), update(status, suspended_at)',
    'app.tokens':
      'insert(token_hash, purpose, user_id, tenant_id, email, role_id, expires_at), select(id, purpose, tenant_id, email, consumed_at), update(token_hash, expires_at)',
    'app.users': 'select(id, email, full_name, disabled_at), update(disabled_at)',
  },
  identity_resolver: {
    app: 'usage',
    'app.audit_log': 'insert(tenant_id, actor_user_id, action, target_type, target_id, after, request_id, ip_hash)',
    'app.current_tenant()': 'execute',
    'app.data_keys': 'select(id, tenant_id, kms_key_arn, wrapped_key)',
    'app.is_open(text)': 'execute',
    'app.lock_user(uuid)': 'execute',
    'app.jobs': 'insert(tenant_id, kind, payload, idempotency_key)',
    'app.memberships': 'select',
    'app.roles': 'select',
    'app.sessions':
      'select(id, user_id, tenant_id, idle_expires_at, absolute_expires_at, user_agent, created_at, last_seen_at, revoked_at), update(revoked_at)',
    'app.set_tenant(uuid)': 'execute',
    'app.tenants': 'select',
    'app.users': 'select(id, disabled_at)',
    'app.vendor_accounts': 'select(id, tenant_id, vendor, account_number, secret_version, sealed_secret, data_key_id)',
  },
  identity_vault: {
    app: 'usage',
    'app.audit_log':
      'insert(tenant_id, actor_user_id, action, target_type, target_id, before, after, request_id, ip_hash)',
    'app.current_tenant()': 'execute',
    'app.data_keys':
      'insert(id, tenant_id, purpose, kms_key_arn, wrapped_key), select, update(status, kms_key_arn, wrapped_key, retired_at, destroyed_at)',
    'app.open_vendor_secret(uuid, text, uuid, text)': 'execute',
    'app.set_tenant(uuid)': 'execute',
    'app.vendor_accounts':
      'select(id, tenant_id, vendor, account_number, status, verified_at, secret_version, data_key_id), update(status, verified_at, checked_at, last_error, revoked_at, sealed_secret, data_key_id)',
    'app.vendors': 'select',
  },
  identity_worker: {
    app: 'usage',
    'app.claim_jobs(text, integer, integer, integer)': 'execute',
    'app.create_audit_partition(date)': 'execute',
    'app.current_tenant()': 'execute',
    'app.enqueue(text, jsonb, text)': 'execute',
    'app.is_open(text)': 'execute',
    'app.jobs':
      'delete, select, update(run_at, attempts, lease_token, leased_until, completed_at, dead_at, last_error)',
    'app.memberships': 'select',
    'app.rate_limits': 'delete, select',
    'app.roles': 'select',
    'app.sessions': 'delete, select(id, idle_expires_at, absolute_expires_at, revoked_at)',
    'app.set_tenant(uuid)': 'execute',
    'app.tenants': 'select(id, legal_name, status, timezone)',
    'app.tokens': 'delete, insert(token_hash, purpose, user_id, expires_at), select',
    'app.users': 'select(id, email, email_verified_at, full_name, disabled_at)',
  },
}

/** What the database grants, in the form of GRANTS: by grantee, then by object. Any login may ask. */
export async function readGrants(
  sql: postgres.Sql | postgres.TransactionSql,
): Promise<Record<string, Record<string, string>>> {
  const rows = await sql<{ grantee: string; object: string; privileges: string }[]>`
    with grant_on as (
      select x.grantee, c.relowner as owner, format('app.%I', c.relname) as object, x.privilege_type as type, null as columns
        from pg_class c, aclexplode(c.relacl) x
       where c.relnamespace = to_regnamespace('app')
      union all
      select x.grantee, c.relowner, format('app.%I', c.relname), x.privilege_type, string_agg(quote_ident(a.attname), ', ' order by a.attnum)
        from pg_class c join pg_attribute a on a.attrelid = c.oid, aclexplode(a.attacl) x
       where c.relnamespace = to_regnamespace('app')
       group by 1, 2, 3, 4
      union all
      select x.grantee, p.proowner, format('app.%I(%s)', p.proname, oidvectortypes(p.proargtypes)), x.privilege_type, null
        from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x
       where p.pronamespace = to_regnamespace('app')
      union all
      select x.grantee, n.nspowner, n.nspname, x.privilege_type, null
        from pg_namespace n, aclexplode(n.nspacl) x
       where n.nspname = 'app'
    )
    select case grantee when 0 then 'public' else pg_get_userbyid(grantee) end as grantee, object,
           string_agg(lower(type) || coalesce('(' || columns || ')', ''), ', ' order by type) as privileges
      from grant_on where grantee <> owner
     group by 1, 2 order by 1, 2`
  const grants: Record<string, Record<string, string>> = {}
  for (const { grantee, object, privileges } of rows) (grants[grantee] ??= {})[object] = privileges
  return grants
}

/** The single privileges of an entry: `select, insert(a, b)` is `select`, `insert (a)` and `insert (b)`. */
const single = (entry: string): string[] =>
  entry === ''
    ? []
    : entry.split(/, (?![^(]*[)])/).flatMap((privilege) => {
        const [, type = privilege, columns] = /^(\w+)[(](.*)[)]$/.exec(privilege) ?? []
        return columns === undefined ? [type] : columns.split(', ').map((column) => `${type} (${column})`)
      })

/** What one grantee holds on one object beyond what is listed, and what is listed and not held. */
export interface GrantDifference {
  readonly grantee: string
  readonly object: string
  readonly extra: readonly string[]
  readonly missing: readonly string[]
}

/** Where the grants of a database are not those that are listed. What PUBLIC holds is left to the catalogue's checks. */
export function compareGrants(actual: Readonly<Record<string, Readonly<Record<string, string>>>>): GrantDifference[] {
  return [...new Set([...Object.keys(GRANTS), ...Object.keys(actual)])]
    .filter((grantee) => grantee !== 'public')
    .flatMap((grantee) => {
      const wanted = GRANTS[grantee] ?? {}
      const held = actual[grantee] ?? {}
      return [...new Set([...Object.keys(wanted), ...Object.keys(held)])].map((object) => {
        const listed = single(wanted[object] ?? '')
        const granted = single(held[object] ?? '')
        const extra = granted.filter((privilege) => !listed.includes(privilege))
        const missing = listed.filter((privilege) => !granted.includes(privilege))
        return { grantee, object, extra, missing }
      })
    })
    .filter(({ extra, missing }) => extra.length + missing.length > 0)
}
