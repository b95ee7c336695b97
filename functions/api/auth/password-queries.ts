import { requestSource, type AuditContext } from '#shared/audit/record-audit.ts'
import type { TicketRun } from '#shared/db/calls.ts'
import { limitValue, sourceValue } from '#shared/db/composite.ts'
import type { Sql } from '#shared/db/connect.ts'
import type { Run } from '#shared/db/run.ts'
import type { SessionTransaction } from '#shared/db/scope.ts'
import type { Cost } from '#shared/password/cost.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'
import type { Ticket } from '#shared/identity/ticket.ts'

/** The salt of a password, as a PHC string without the digest, and the costs of all stored passwords. */
export interface FoundSalt {
  readonly salt: string
  readonly costs: readonly Cost[]
}

/**
 * Returns the salt of the user with this address, regardless of case. For an address without a password it returns one that is the same
 * each time, at the highest cost of all stored passwords.
 */
export async function findSalt(sql: Run, email: string): Promise<FoundSalt> {
  const [row] = await sql<SaltRow>`select * from app.password_salt(${email})`
  if (row === undefined) throw new Error('the database returned no salt')
  return saltOf(row)
}

interface SaltRow {
  salt: string
  costs: [memoryKib: number, iterations: number][]
}

const saltOf = ({ salt, costs }: SaltRow): FoundSalt => ({
  salt,
  costs: costs.map(([memoryKib, iterations]) => ({ memoryKib, iterations })),
})

/** Counts a try of the user's password, and returns its salt, or the seconds until the limit allows one. */
export async function findOwnSalt(
  call: TicketRun,
  ticket: Ticket,
  limit: Limit,
): Promise<FoundSalt | { wait: number }> {
  const [row] = await ticket.present(
    (bytes) => call<SaltRow & { retry_after_seconds: number | null }>`
      select * from app.own_salt(${bytes}, ${limitValue(limit)}::app.limit)`,
  )
  if (row === undefined) throw new Error('the database returned no salt')
  if (row.retry_after_seconds !== null) return { wait: row.retry_after_seconds }
  return saltOf(row)
}

/** Returns whether the digest is the one of the password of the ticket's user. */
export async function isOwnPassword(sql: Sql, ticket: Ticket, digest: Buffer): Promise<boolean> {
  const [row] = await ticket.present(
    (bytes) => sql<{ own: boolean }>`select app.is_own_password(${bytes}, ${digest}) as own`,
  )
  return row?.own ?? false
}

/**
 * Replaces the password of the ticket's user, voids the password resets requested so far, ends every other session and records
 * both in the audit logs. Returns false when the digest is no longer the one of the user's password.
 */
export async function changePassword(
  sql: SessionTransaction,
  { client, requestId, runtime }: AuditContext,
  {
    ticket,
    digest,
    newHash,
    stepUpSeconds,
  }: { ticket: Ticket; digest: Buffer; newHash: string; stepUpSeconds: number },
): Promise<boolean> {
  const [row] = await ticket.present(
    (bytes) => sql<{ changed: boolean }>`
      select app.change_password(
        ${bytes}, ${digest}, ${newHash}, ${sourceValue(requestSource({ client, requestId, runtime }))}::app.source,
        ${stepUpSeconds}) as changed`,
  )
  return row?.changed ?? false
}

/** Stores a password at the current cost. Changes nothing when the digest is no longer the one of the user's password. */
export async function rehashPassword(sql: Sql, email: string, digest: Buffer, newHash: string): Promise<void> {
  await sql`select app.rehash_password(${email}, ${digest}, ${newHash})`
}

/** The user of an open password reset, and the names of their tenants. */
export interface FoundReset {
  readonly email: string
  readonly full_name: string | null
  readonly tenantNames: readonly string[]
}

/** Returns the open password reset of a token, `consumed`, or null for any other token and for a disabled user's. */
export async function findReset(sql: Sql, [current, previous]: TokenHashes): Promise<FoundReset | 'consumed' | null> {
  const [row] = await sql<Omit<FoundReset, 'tenantNames'> & { consumed: boolean; tenant_names: string | null }>`
    select * from app.find_reset(${current}, ${previous})`
  if (row === undefined) return null
  const { consumed, email, full_name, tenant_names: names } = row
  return consumed ? 'consumed' : { email, full_name, tenantNames: names?.split('\n') ?? [] }
}

/**
 * Sets a password by a reset token, which it consumes. It also verifies the address, voids the other password resets requested
 * so far, ends every session and records both in the audit logs. Returns the user, `consumed` when another request used the
 * token, or null when it cannot be used.
 */
export async function resetPassword(
  sql: Sql,
  { client, requestId, runtime }: AuditContext,
  { hashes: [current, previous], newHash }: { hashes: TokenHashes; newHash: string },
): Promise<{ userId: string } | 'consumed' | null> {
  const [row] = await sql<{ user_id: string | null }>`
    select * from app.reset_password(
      ${current}, ${previous}, ${newHash}, ${sourceValue(requestSource({ client, requestId, runtime }))}::app.source)`
  if (row === undefined) return null
  return row.user_id === null ? 'consumed' : { userId: row.user_id }
}
