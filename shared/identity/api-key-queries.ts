import type { Run } from '#shared/db/run.ts'
import type { KeyPrincipal } from '#shared/identity/session.ts'
import { tenantOf } from '#shared/identity/session-queries.ts'
import type { Tenant } from '#shared/identity/tenant.ts'
import { Ticket } from '#shared/identity/ticket.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'

/** A row of app.authenticate_key. Over the limit it has the seconds to wait, and no ticket. */
interface CheckedKeyRow extends Omit<Tenant, 'id'> {
  readonly key_id: string
  readonly key_name: string
  readonly expires_at: string
  readonly tenant_id: string
  readonly permissions: string[]
  readonly ticket: Uint8Array | null
  readonly retry_after_seconds: number | null
}

/** The key has sent as many requests as it may. */
export interface Limited {
  readonly retryAfterSeconds: number
}

export const isLimited = (found: object): found is Limited => 'retryAfterSeconds' in found

/**
 * Returns the principal of an API key, `Limited` over the limit of requests a minute, or null when the key is not live. It is one
 * statement, also during a rotation of the pepper. Null counts no request.
 */
export async function authenticateKey(
  sql: Run,
  [current, previous]: TokenHashes,
  mostPerMinute: number | null,
): Promise<KeyPrincipal | Limited | null> {
  const [row] = await sql<CheckedKeyRow>`select * from app.authenticate_key(${current}, ${previous}, ${mostPerMinute})`
  return row === undefined ? null : principalOrLimited(row)
}

/** The principal of a key, with the proof by which another service enters the tenant (app.enter). */
export type ProvenKeyPrincipal = KeyPrincipal & { readonly proof: Uint8Array | null }

/** As `authenticateKey`, also in one statement, with a proof for another service. */
export async function authenticateKeyForService(
  sql: Run,
  [current, previous]: TokenHashes,
  mostPerMinute: number | null,
): Promise<ProvenKeyPrincipal | Limited | null> {
  const [row] = await sql<CheckedKeyRow & { readonly proof: Uint8Array | null }>`
    select found.*, case when ticket is not null then app.service_proof(ticket) end as proof
      from app.authenticate_key(${current}, ${previous}, ${mostPerMinute}) found`
  if (row === undefined) return null
  const found = principalOrLimited(row)
  return isLimited(found) ? found : { ...found, proof: row.proof }
}

const principalOrLimited = (row: CheckedKeyRow): KeyPrincipal | Limited =>
  row.ticket === null ? { retryAfterSeconds: row.retry_after_seconds ?? 1 } : keyPrincipal(row, row.ticket)

const keyPrincipal = (row: CheckedKeyRow, ticket: Uint8Array): KeyPrincipal => ({
  kind: 'key',
  ticket: new Ticket(ticket),
  key: { id: row.key_id, name: row.key_name, expires_at: row.expires_at },
  tenant: tenantOf(row.tenant_id, row),
  permissions: row.permissions,
})
