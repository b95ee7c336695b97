import { sourceValue } from '#shared/db/composite.ts'
import type { Sql } from '#shared/db/connect.ts'
import type { RequestSource } from '#shared/schema/client.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'

/**
 * Consumes the token of an email verification and marks the address as verified. Returns whether the token is open, or was
 * consumed before: a second use changes nothing.
 */
export async function verifyEmail(sql: Sql, [current, previous]: TokenHashes): Promise<boolean> {
  const [row] = await sql<{ verified: boolean }>`select app.verify_email(${current}, ${previous}) as verified`
  return row?.verified ?? false
}

/** Returns the address of an open email verification, or null for any other token. */
export async function findVerification(sql: Sql, [current, previous]: TokenHashes): Promise<string | null> {
  const [row] = await sql<{ email: string | null }>`select app.find_verification(${current}, ${previous}) as email`
  return row?.email ?? null
}

/** Returns the address of the user whose reset of the second factor an open token cancels, or null for any other token. */
export async function findResetCancellation(sql: Sql, [current, previous]: TokenHashes): Promise<string | null> {
  const [row] = await sql<{ email: string | null }>`
    select app.find_reset_cancellation(${current}, ${previous}) as email`
  return row?.email ?? null
}

/** Cancels the reset of a second factor. Returns whether the token is open, or its reset was cancelled before: that changes nothing. */
export async function cancelReset(sql: Sql, [current, previous]: TokenHashes, source: RequestSource): Promise<boolean> {
  const [row] = await sql<{ cancelled: boolean }>`
    select app.cancel_factor_reset(${current}, ${previous}, ${sourceValue(source)}::app.source) as cancelled`
  return row?.cancelled ?? false
}
