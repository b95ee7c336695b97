import type { EventRow } from '#shared/audit/event.ts'
import type { Config } from '#shared/base/config.ts'
import type { Run } from '#shared/db/run.ts'
import { holds, type Permission, PERMISSIONS } from '#shared/identity/permissions.ts'
import { BEGINNING, type Key, type ListRow, rowByAge } from '#shared/schema/page.ts'
import { timestampText } from '#shared/schema/timestamp.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'
import { slideStep } from '#shared/identity/session-queries.ts'

/** The service that asks, with the hashes of its key. */
interface Asking {
  readonly name: string
  readonly key: TokenHashes
}

/** A live API key. */
export interface IntrospectedKey {
  readonly api_key_id: string
  readonly expires_at: string
  readonly tenant_id: string
  readonly permissions: readonly string[]
}

/** A live session in its tenant. */
export interface Introspected {
  readonly api_key_id: null
  readonly session_id: string
  readonly expires_at: string
  readonly user_id: string
  readonly tenant_id: string
  readonly role_code: string
  readonly permissions: readonly string[]
  /** When its user signed in or last stepped up. */
  readonly auth_time: string
  readonly second_factor: boolean
}

type OrNulls<Row> = Row | { readonly [Name in keyof Row]: null }

/**
 * Returns the session or the API key of a token for a service, null when it is not live or has no tenant, or `wrong key`. It is one
 * statement. Without hashes it checks the key of the service alone.
 */
export async function introspectToken(
  sql: Run,
  { name, key }: Asking,
  { hashes: [current, previous], isApiKey }: { hashes: TokenHashes | readonly [null, null]; isApiKey: boolean },
  { idleSeconds, slideStepSeconds }: Config['session'],
): Promise<Introspected | IntrospectedKey | null | 'wrong key'> {
  const step = slideStep(idleSeconds, slideStepSeconds)
  const [row] = await sql<OrNulls<Introspected> | IntrospectedKey>`
    select * from app.introspect(${name}, ${key[0]}, ${key[1]}, ${current}, ${previous}, ${idleSeconds}, ${step}, ${isApiKey})`
  if (row === undefined) return 'wrong key'
  if (row.api_key_id !== null) return row
  return row.session_id === null ? null : row
}

export type Change = EventRow & { readonly xact: string }

/** A row of a page, or without an event the row that has the position. */
type ChangeRow = (Change | (Omit<Change, 'id'> & { id: null })) & { readonly held_back: boolean }

/** Events, the position after them, and whether no event had committed that follows. */
interface Changes {
  readonly changes: readonly Change[]
  readonly next: Key
  readonly complete: boolean
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
  const rows = await sql<ChangeRow>`
    select * from app.changes(${name}, ${key[0]}, ${key[1]}, ${xact}::text::xid8, ${id}, ${limit})`
  const last = rows.at(-1)
  if (last === undefined) return 'wrong key'
  const changes = rows.filter((row): row is ChangeRow & Change => row.id !== null)
  return { changes, next: [last.xact, last.id ?? LEAST_ID], complete: changes.length < limit && !last.held_back }
}

/** A membership, with what its role permits. */
export interface Membership {
  readonly id: string
  readonly tenant_id: string
  readonly user_id: string
  readonly role: string
  readonly permissions: readonly Permission[]
  readonly live: boolean
  readonly accepted_at: string
  readonly revoked_at: string | null
  readonly created_at: string
}

interface MembershipRow extends Omit<Membership, 'role' | 'permissions'> {
  readonly xact: string
  readonly role_code: string
  readonly permissions: readonly string[]
}

/** Memberships, and the position in the changes from before they were read. */
interface Memberships {
  readonly rows: readonly ListRow<Membership>[]
  readonly position: Key
}

/**
 * Returns members and former members of a tenant, or of all tenants with null, oldest first: up to `limit` + 1 of them. Returns
 * `wrong key` without a valid key.
 */
export async function membershipsOf(
  sql: Run,
  { name, key }: Asking,
  { tenant, after, limit }: { tenant: string | null; after: Key | null; limit: number },
): Promise<Memberships | 'wrong key'> {
  const [createdAfter, idAfter] = after ?? BEGINNING
  const rows = await sql<MembershipRow | { xact: string; id: null }>`
    select * from app.memberships_of_tenants(${name}, ${key[0]}, ${key[1]}, ${tenant}, ${createdAfter}::text::timestamptz,
                                             ${idAfter}, ${limit + 1})`
  const [first] = rows
  if (first === undefined) return 'wrong key'
  const found = rows.filter((row): row is MembershipRow => row.id !== null)
  return {
    rows: found.map((row) => rowByAge(membershipOf(row), { at: row.created_at, id: row.id })),
    position: [first.xact, LEAST_ID],
  }
}

const membershipOf = (row: MembershipRow): Membership => ({
  id: row.id,
  tenant_id: row.tenant_id,
  user_id: row.user_id,
  role: row.role_code,
  // An owner holds every permission that exists.
  permissions: PERMISSIONS.filter((permission) => holds(row.permissions, permission)),
  live: row.live,
  accepted_at: timestampText(row.accepted_at),
  revoked_at: row.revoked_at === null ? null : timestampText(row.revoked_at),
  created_at: timestampText(row.created_at),
})
