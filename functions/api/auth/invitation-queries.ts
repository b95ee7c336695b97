import { requestSource, type AuditContext } from '#shared/audit/record-audit.ts'
import { sourceValue } from '#shared/db/composite.ts'
import type { Sql } from '#shared/db/connect.ts'
import type { Language } from '#shared/schema/language.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'

/** An open or accepted invitation. */
export interface FoundInvitation {
  readonly tenant_id: string
  readonly slug: string
  readonly legal_name: string
  readonly role_code: string
  readonly role_label: string
  readonly email: string
  readonly consumed: boolean
  readonly account_exists: boolean
  /** Whether the user of the address is a member of the tenant now. */
  readonly is_member: boolean
  readonly inviter_name: string | null
  /** The verified address of the inviter. Null when the platform invites. */
  readonly inviter_email: string | null
  /** Whether the tenant asks the role for a second factor, now or later. */
  readonly second_factor_required: boolean
}

/** Returns the invitation of a token. Returns null when its tenant is not open, or it is open and its user is disabled. */
export async function findInvitation(sql: Sql, [current, previous]: TokenHashes): Promise<FoundInvitation | null> {
  const [row] = await sql<FoundInvitation>`select * from app.find_invitation(${current}, ${previous})`
  return row ?? null
}

interface Acceptance {
  readonly hashes: TokenHashes
  readonly fullName: string | null
  /** The password of a new user. Null when the address has one. */
  readonly passwordHash: string | null
  /** The language of a new user. */
  readonly language: Language
}

/**
 * Accepts an invitation: consumes its token, creates the user unless there is one, makes them a live member, and records it in
 * the audit log. The transaction is then in the tenant's scope. Returns the user, `accepted` when another request accepted it,
 * or null when it cannot be accepted.
 */
export async function markAccepted(
  sql: Sql,
  { client, requestId, runtime }: AuditContext,
  { hashes: [current, previous], fullName, passwordHash, language }: Acceptance,
): Promise<{ userId: string; created: boolean } | 'accepted' | null> {
  const run = sql.invoking('publish-events')
  const [row] = await run<{ user_id: string | null; account_created: boolean }>`
    select * from app.accept_invitation(
      ${current}, ${previous}, ${fullName}, ${passwordHash},
      ${sourceValue(requestSource({ client, requestId, runtime }))}::app.source, ${language})`
  if (row === undefined) return null
  return row.user_id === null ? 'accepted' : { userId: row.user_id, created: row.account_created }
}
