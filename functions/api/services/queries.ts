import type { EventRow } from '#shared/audit/event.ts'
import type { Config } from '#shared/base/config.ts'
import type { Run } from '#shared/db/run.ts'
import type { Key } from '#shared/schema/page.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'
import { slideStep } from '#shared/identity/session-queries.ts'

/** The service that asks, with the hashes of its key. */
interface Asking {
  readonly name: string
  readonly key: TokenHashes
}

/** A live session in its tenant. */
export interface Introspected {
  readonly session_id: string
  readonly expires_at: string
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

/** Events, and the position after them. */
interface Changes {
  readonly changes: readonly Change[]
  readonly next: Key
}

const LEAST_ID = '00000000-0000-0000-0000-000000000000'

/**
 * Returns up to `limit` events after a position, or from the oldest on with null, and the position after them. Returns `wrong key`
 * without a valid key. Throws the PostgresError TN410 when an event after the position may be deleted.
 */
export async function changesAfter(
  sql: Run,
  { name, key }: Asking,
  { after, limit }: { after: Key | null; limit: number },
): Promise<Changes | 'wrong key'> {
  const [xact, id] = after ?? [null, null]
  const rows = await sql<Change | (Omit<Change, 'id'> & { id: null })>`
    select * from app.changes(${name}, ${key[0]}, ${key[1]}, ${xact}::text::xid8, ${id}, ${limit})`
  const last = rows.at(-1)
  if (last === undefined) return 'wrong key'
  return { changes: rows.filter((row): row is Change => row.id !== null), next: [last.xact, last.id ?? LEAST_ID] }
}
