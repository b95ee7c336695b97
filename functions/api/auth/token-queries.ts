import type { Sql } from '#shared/db/connect.ts'
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
