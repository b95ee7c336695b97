import type { EventRow } from '#shared/audit/event.ts'
import type { Config } from '#shared/config.ts'
import type { Run } from '#shared/db/connect.ts'
import type { Key } from '#shared/schema/page.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'
import { slideStep } from '#shared/session/queries.ts'

/** The service that asks, with the hashes of its key. */
interface Asking {
  readonly name: string
  readonly key: TokenHashes
}

/** A live session in its tenant. */
export interface Introspected {
  readonly session_id: string
  readonly expires_at: Date
  readonly user_id: string
  readonly tenant_id: string
  readonly role_code: string
  readonly permissions: readonly string[]
}

type OrNulls<Row> = Row | { readonly [Name in keyof Row]: null }

/**
 * Returns the session of a token for a service, null when it is not live or has no tenant, or `wrong key`. It is one statement.
 * Without hashes it checks the key alone.
 */
export async function introspectSession(
  sql: Run,
  { name, key }: Asking,
  [current, previous]: TokenHashes | readonly [null, null],
  { idleSeconds, slideStepSeconds }: Config['session'],
): Promise<Introspected | null | 'wrong key'> {
  const step = slideStep(idleSeconds, slideStepSeconds)
  const [row] = await sql<OrNulls<Introspected>>`
    select * from app.introspect(${name}, ${key[0]}, ${key[1]}, ${current}, ${previous}, ${idleSeconds}, ${step})`
  if (row === undefined) return 'wrong key'
  return row.session_id === null ? null : row
}

export type Change = EventRow & { readonly xact: string }

/** Returns up to `limit` events after a position, the oldest first, or `wrong key`. */
export async function changesAfter(
  sql: Run,
  { name, key }: Asking,
  { after: [xact, id], limit }: { after: Key; limit: number },
): Promise<Change[] | 'wrong key'> {
  const rows = await sql<OrNulls<Change>>`
    select * from app.changes(${name}, ${key[0]}, ${key[1]}, ${xact}::text::xid8, ${id}, ${limit})`
  if (rows.length === 0) return 'wrong key'
  return rows.filter((row): row is Change => row.id !== null)
}
