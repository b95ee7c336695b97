import assert from 'node:assert/strict'
import { as, attempt, type FunctionGuarantees, type Guarantee, REFUSED } from './guarantee.ts'
import type { TwoTenants } from './two-tenants.ts'

/** The columns that operators see of the rows of all tenants. */
const INSPECTED: Readonly<Record<string, readonly string[]>> = {
  dead_letters: ['kind', 'id', 'tenant_id', 'attempts', 'last_error', 'dead_at'],
  failed_syncs: ['tenant_id', 'vendor', 'error', 'runs'],
  bounced_invitations: ['tenant_id', 'invitations'],
  kms_keys_in_use: ['kms_key_arn', 'tenant_id', 'data_keys'],
}

/** Makes a row that the function shows. */
const SHOWN: Readonly<Record<string, string>> = {
  failed_syncs: `update app.sync_runs set status = 'failed', error = 'abandoned', started_at = now(), finished_at = now()`,
  kms_keys_in_use: String.raw`update app.data_keys set status = 'decrypt_only', wrapped_key = '\x01' where wrapped_key is null`,
}

const inspectionGuarantee = (_: TwoTenants, name: string): Guarantee => ({
  title: `guarantee 6: ${name} refuses identity_app, and shows operators no payload, address, secret or hash`,
  holds: async (sql) => {
    const make = SHOWN[name]
    if (make !== undefined) await as(sql, 'none', () => sql.unsafe(make))
    const call = `select * from app.${name}()`
    assert.equal((await attempt(sql, call)).code, REFUSED, call)
    const rows = await as(sql, 'identity_operator', () => sql.unsafe(call))
    assert.deepEqual(
      rows.columns.map((column) => column.name),
      INSPECTED[name],
    )
    if (make !== undefined) assert.ok(rows.length > 0, call)
  },
})

export const FUNCTIONS: FunctionGuarantees = {
  dead_letters: inspectionGuarantee,
  failed_syncs: inspectionGuarantee,
  bounced_invitations: inspectionGuarantee,
  kms_keys_in_use: inspectionGuarantee,
}
