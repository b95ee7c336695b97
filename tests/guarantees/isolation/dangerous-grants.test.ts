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
  'insert on app.sessions.token_key': { identity_gate: 'app.create_session creates a session' },
  'update on app.sessions.token_key': { identity_gate: 'a step-up gives a session a new token' },
  'insert on app.factors.witness_hash': { identity_gate: 'app.add_app adds an app' },
  'update on app.factors.witness_hash': { identity_gate: 'app.reseal_factor takes the witness of the previous key' },
  'select on app.factors.sealed_secret': { identity_gate: 'app.show_app shows an app of which a code was counted' },
  'update on app.factors.sealed_secret': { identity_gate: 'app.reseal_factor seals an app with another key' },
  'update on app.factors.last_step': { identity_gate: 'app.accept_code uses the code of a step' },
  'delete on app.factors': { identity_gate: 'app.remove_factor and app.add_app delete a factor of the user' },
  'insert on app.open_sign_ins.token_key': { identity_gate: 'app.open_sign_in opens a sign-in' },
  'update on app.open_sign_ins.tries': { identity_gate: 'app.look_at_sign_in takes a try' },
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
  'select on app.api_keys.key_hash': { identity_gate: 'app.authenticate_key finds the key of a request' },
  'insert on app.api_keys.key_hash': { identity_gate: 'app.create_api_key makes a key of who may manage members' },
  'update on app.api_keys.key_hash': { identity_gate: 'app.rotate_api_key replaces the secret' },
  'update on app.api_keys.expires_at': { identity_gate: 'app.rotate_api_key may prolong a key' },
  'update on app.api_keys.revoked_at': {
    identity_gate: 'app.revoke_api_key, app.revoke_sent_key and app.end_api_key end a key',
  },
  'insert on app.api_key_permissions.permission': { identity_gate: 'app.create_api_key gives what the person holds' },
  'update on app.api_key_permissions.permission': {},
  'delete on app.api_key_permissions': {},
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
})
