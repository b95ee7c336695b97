import { afterAll, describe, expect, it } from 'vitest'
import { createTestDatabase } from '#tests/support/database.ts'

// Written by hand: `npm run grants` would accept a new holder of one of these without a question.

/** Privileges that do harm in the wrong hands: every role that holds one, and why. */
const DANGEROUS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'select on app.users.password_hash': { identity_gate: 'app.sign_in compares it with a digest' },
  'insert on app.users.password_hash': { identity_gate: 'app.accept_invitation creates the user' },
  'update on app.users.password_hash': { identity_gate: 'changes, resets and rehashes passwords' },
  'update on app.users.email': {},
  'update on app.users.disabled_at': { identity_operator: 'disables and enables users' },
  'select on app.sessions.token_key': { identity_gate: 'app.authenticate finds the session of a request' },
  'select on app.sessions.csrf_secret': { identity_gate: 'app.authenticate returns it to the session check' },
  'update on app.sessions.tenant_id': { identity_gate: 'app.select_tenant checks the membership' },
  'insert on app.sessions.token_key': { identity_gate: 'app.sign_in creates a session' },
  'update on app.sessions.token_key': {},
  'update on app.sessions.user_id': {},
  'update on app.sessions.revoked_at': {
    identity_app: 'revoking a member ends their sessions in the tenant',
    identity_operator: 'closing a tenant and disabling a user end sessions',
    identity_resolver: 'app.end_sessions ends the sessions of the caller',
    identity_gate: 'a new password ends sessions',
  },
  'insert on app.tokens.token_hash': {
    identity_gate: 'app.store_invitation and app.mail_of_user issue tokens',
  },
  'update on app.tokens.token_hash': {
    identity_gate: 'inviting again replaces the hash',
    identity_operator: 'resending an invitation replaces the hash',
  },
  'insert on app.memberships.role_id': {
    identity_gate: 'app.make_membership alone, for functions that check a proof',
  },
  'update on app.memberships.role_id': {
    identity_app: 'changes roles; a trigger refuses those that the actor may not give',
    identity_gate: 'inviting and accepting set the role',
  },
  'update on app.memberships.accepted_at': { identity_gate: 'app.accept_invitation consumes a token' },
  'select on app.tokens.token_hash': { identity_gate: 'finds a token by its hash' },
  'update on app.memberships.tenant_id': {},
  'update on app.memberships.user_id': {},
  'delete on app.memberships': {},
  'update on app.tenants.status': { identity_operator: 'suspends and closes tenants' },
  'insert on app.role_permissions.permission': {
    identity_app:
      'adds permissions to a role of the tenant: a constraint refuses `*`, and a trigger what the person lacks',
  },
  'update on app.role_permissions.permission': {},
  'insert on app.roles.permissions': {},
  'update on app.roles.permissions': { identity_gate: 'app.update_permissions; a trigger computes the value' },
  'select on app.vendor_accounts.sealed_secret': {
    identity_resolver: 'app.open_vendor_secret needs an audit entry for each read',
  },
  'insert on app.vendor_accounts.sealed_secret': { identity_app: 'connects an account' },
  'update on app.vendor_accounts.sealed_secret': {
    identity_app: 'replaces and erases a secret',
    identity_vault: 'encrypts it again under a new data key',
  },
  'select on app.data_keys.wrapped_key': {
    identity_vault: 'wraps data keys again under a new KMS key',
    identity_resolver: 'app.open_vendor_secret returns it with the secret',
  },
  'insert on app.data_keys.wrapped_key': { identity_vault: 'creates data keys' },
  'update on app.data_keys.wrapped_key': { identity_vault: 'rotates and destroys data keys' },
  'update on app.audit_log.action': {},
  'delete on app.audit_log': {},
  'select on app.jobs.payload': { identity_gate: 'app.claim_jobs returns it with the lease' },
  'select on app.jobs.lease_token': { identity_gate: 'app.claim_jobs returns it' },
  'select on app.service_keys.key_hash': { identity_gate: 'app.service_of_key finds the key of a request' },
  'insert on app.service_keys.key_hash': { identity_operator: 'creates and rotates keys' },
  'update on app.service_keys.key_hash': { identity_gate: 'stores it under a new pepper' },
  'select on app.seal.scope_key': { identity_gate: 'seals the tenant of a transaction' },
  'select on app.seal.ticket_key': { identity_gate: 'seals tickets' },
  'select on app.seal.proof_key': { identity_gate: 'seals the proofs of other services' },
  'insert on app.service_tenants.role': { identity_operator: 'grants a tenant to a service' },
  'select on app.seal.salt_key': { identity_gate: 'app.password_salt invents salts' },
  'update on app.seal.scope_key': {},
  'delete on app.jobs': { identity_gate: 'app.delete_old_jobs deletes jobs that ended long ago' },
  'delete on app.events': { identity_gate: 'app.delete_old_events deletes events that were sent long ago' },
  'delete on app.sessions': { identity_resolver: 'app.delete_old_sessions deletes sessions that ended long ago' },
}

/** The policies that do not compare the tenant, with their role, and why. */
const OPEN: Readonly<Record<string, string>> = {
  'audit_log gate_append identity_gate': 'audits the selection of a tenant',
  'audit_log resolver_append identity_resolver': 'audits a change of a user in every tenant of theirs',
  'data_keys gate_inspects identity_gate': 'counts data keys by KMS key',
  'events gate identity_gate': 'returns the events of all tenants to a lease, and deletes old ones',
  'events resolver_queue identity_resolver': 'adds events, gives them to jobs, and shows them to services with a key',
  'events worker_queue identity_worker': 'counts the events of all tenants',
  'jobs gate identity_gate': 'leases jobs of all tenants',
  'jobs worker_queue identity_worker': 'counts the jobs of all tenants',
  'memberships gate identity_gate': 'checks the membership of a session',
  'memberships operator_read identity_operator': 'finds the tenants of a user',
  'memberships resolver_read identity_resolver': 'finds the tenants of a user',
  'replies gate_expired identity_gate': 'deletes the replies that expired',
  'role_permissions gate identity_gate': 'reads the permissions of a session',
  'role_permissions platform_write identity_owner': 'a migration adds permissions to roles of the platform',
  'roles gate identity_gate': 'reads the role of a session, and computes the permissions of roles',
  'roles platform_write identity_owner': 'a migration adds roles of the platform',
  'roles resolver_read identity_resolver': 'names the roles of a user',
  'service_tenants gate identity_gate': 'reads the grants of a service',
  'sessions gate identity_gate': 'finds a session by its token hash',
  'sessions operator_all identity_operator': 'ends the sessions of a tenant and of a user',
  'sessions resolver_all identity_resolver': 'lists and ends the sessions of a user',
  'sync_runs gate_inspects identity_gate': 'counts failed sync runs',
  'tenants gate identity_gate': 'checks the tenant of a session',
  'tenants operator_read identity_operator': 'finds a tenant by its slug',
  'tenants resolver_read identity_resolver': 'lists the tenants to select from',
  'tokens gate identity_gate': 'finds an invitation by its token hash',
  'users gate identity_gate': 'finds the user of a session',
  'users operator_all identity_operator': 'disables and enables users',
  'users people_of_tenant identity_app': 'sees the members of the tenant, by the guard of memberships',
  'users resolver_read identity_resolver': 'reads whether a user is disabled',
}

const database = await createTestDatabase()
const sql = database.admin
afterAll(() => database.drop())

/** The roles of the service for which a condition on their oid is true. */
async function holders(condition: string, parameters: string[]): Promise<string[]> {
  const rows = await sql.unsafe<{ role: string }[]>(
    `select rolname as role from pg_roles r
      where rolname ~ '^(identity|tenant)_' and rolname <> 'identity_owner' and ${condition}`,
    parameters,
  )
  return rows.map(({ role }) => role).toSorted()
}

describe('a dangerous privilege', () => {
  it.each(Object.entries(DANGEROUS))('%s is held by the listed roles alone', async (privilege, reasons) => {
    const [, type = '', table = '', column] = /^(\w+) on (app\.\w+)(?:\.(\w+))?$/.exec(privilege) ?? []
    const found =
      column === undefined
        ? await holders('has_table_privilege(r.oid, $1, $2)', [table, type])
        : await holders('has_column_privilege(r.oid, $1, $2, $3)', [table, column, type])
    expect(found).toEqual(Object.keys(reasons).toSorted())
  })

  it('includes only the listed policies that ignore the tenant', async () => {
    const rows = await sql<{ policy: string }[]>`
      select format('%s %s %s', p.polrelid::regclass, p.polname, role.oid::regrole) as policy
        from pg_policy p, unnest(p.polroles) as role(oid)
       where p.polpermissive and coalesce(pg_get_expr(p.polqual, p.polrelid), '') || coalesce(pg_get_expr(p.polwithcheck, p.polrelid), '')
               not like '%current_tenant%'`
    expect(rows.map(({ policy }) => policy).toSorted()).toEqual(Object.keys(OPEN))
  })
})
