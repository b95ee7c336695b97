import type { Sql } from '#shared/db/connect.ts'
import { entryBy, TenantProof } from '#shared/db/scope.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'
import type { TokenPurpose } from '#shared/token/token.ts'

/** A single-use token. */
export interface TokenRow {
  readonly id: string
  readonly user_id: string | null
  readonly tenant_id: string | null
  readonly email: string | null
  readonly role_id: number | null
  readonly invited_by: string | null
  readonly consumed: boolean
}

/** The open or accepted invitation of a token, with proof for its tenant. */
export interface FoundInvitation extends TokenRow {
  readonly proof: TenantProof
}

/** Returns the invitation of a token. Proof of an accepted one only reads. */
export async function findInvitation(sql: Sql, [current, previous]: TokenHashes): Promise<FoundInvitation | null> {
  const [row] = await sql<TokenRow & { readonly ticket: Uint8Array }>`
    select id, user_id, tenant_id, email, role_id, invited_by, consumed_at is not null as consumed,
           app.invitation_ticket(token_hash) as ticket
      from app.tokens
     where token_hash in (${current}, ${previous}) and purpose = 'invite' and (consumed_at is not null or expires_at > now())`
  if (row === undefined) return null
  const { ticket, ...token } = row
  return { ...token, proof: new TenantProof(() => entryBy(ticket)) }
}

/** Returns the token if it has this purpose and is open or consumed, otherwise null. Does not consume it. */
export async function findToken(
  sql: Sql,
  [current, previous]: TokenHashes,
  purpose: TokenPurpose,
): Promise<TokenRow | null> {
  const [row] = await sql<TokenRow>`
    select id, user_id, tenant_id, email, role_id, invited_by, consumed_at is not null as consumed
      from app.tokens
     where token_hash in (${current}, ${previous}) and purpose = ${purpose}
       and (consumed_at is not null or app.is_open_token(purpose, user_id, created_at, consumed_at, expires_at))`
  return row ?? null
}

/** Locks the user. Tokens of one user are used one at a time. Lock the user before a row of theirs. */
export async function lockUser(sql: Sql, userId: string): Promise<void> {
  await sql`select app.lock_user(${userId})`
}

/** Consumes a token. Returns true to exactly one of any number of concurrent attempts. */
export async function consumeToken(
  sql: Sql,
  [current, previous]: TokenHashes,
  purpose: TokenPurpose,
): Promise<boolean> {
  const consumed = await sql`
    update app.tokens set consumed_at = now()
     where token_hash in (${current}, ${previous}) and purpose = ${purpose}
       and app.is_open_token(purpose, user_id, created_at, consumed_at, expires_at)
    returning id`
  return consumed.length > 0
}

export interface UserContact {
  readonly id: string
  readonly email: string
  readonly full_name: string | null
  readonly disabled_at: Date | null
}

export async function findUserContact(sql: Sql, by: { id: string } | { email: string }): Promise<UserContact | null> {
  const [user] =
    'id' in by
      ? await sql<UserContact>`select id, email, full_name, disabled_at from app.users where id = ${by.id}`
      : await sql<UserContact>`select id, email, full_name, disabled_at from app.users where email = ${by.email}`
  return user ?? null
}

/** Marks the address as verified. */
export async function verifyEmail(sql: Sql, userId: string): Promise<void> {
  await sql`update app.users set email_verified_at = now() where id = ${userId} and email_verified_at is null`
}
