import type { Sql } from '#shared/db/connect.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'

export interface OpenInvitation {
  readonly token_hash: Buffer
  readonly email: string
  readonly expires_at: Date
  readonly expired: boolean
  /** Whether mail to the address bounced before. */
  readonly bounced: boolean
  readonly shop: string
  readonly timezone: string
  readonly role: string
  /** The verified address of the inviter. Null when the platform invites. */
  readonly inviter: string | null
}

/** Returns an invitation with its current token hash, or null when it was accepted or cancelled, or its address is a disabled user's. */
export async function findOpenInvitation(sql: TenantTransaction, id: string): Promise<OpenInvitation | null> {
  const [row] = await sql<OpenInvitation>`
    select i.token_hash, i.email, i.expires_at, i.expires_at <= now() as expired,
           i.bounced_at is not null or exists (
             select from app.users bounced where bounced.email = i.email and bounced.bounced_at is not null) as bounced,
           t.legal_name as shop, t.timezone, r.label as role,
           u.email as inviter
      from app.tokens i
      join app.tenants t on t.id = i.tenant_id
      join app.roles r on r.id = i.role_id
      left join app.users u on u.id = i.invited_by and u.email_verified_at is not null
     where i.id = ${id} and i.purpose = 'invite'
       and i.consumed_at is null
       and not exists (select from app.users invited where invited.email = i.email and invited.disabled_at is not null)`
  return row ?? null
}

export interface UserContact {
  readonly id: string
  readonly email: string
  readonly email_verified_at: Date | null
}

/** Returns a user who is not disabled and whose mail did not bounce, or null. */
export async function findUserContact(sql: Sql, id: string): Promise<UserContact | null> {
  const [row] = await sql<UserContact>`
    select id, email, email_verified_at from app.users where id = ${id} and disabled_at is null and bounced_at is null`
  return row ?? null
}

/** Returns a user like `findUserContact`, or null when a password reset that was requested at this time is void. */
export async function findResetContact(sql: Sql, email: string, requestedAt: Date): Promise<UserContact | null> {
  const [row] = await sql<UserContact>`
    select id, email, email_verified_at from app.users
     where email = ${email} and disabled_at is null and bounced_at is null and resets_valid_from < ${requestedAt}`
  return row ?? null
}

/** Returns when the token of this hash expires, or null when there is none. */
export async function findExpiry(sql: Sql, hash: Uint8Array): Promise<Date | null> {
  const [row] = await sql<{ expires_at: Date }>`select expires_at from app.tokens where token_hash = ${hash}`
  return row?.expires_at ?? null
}

/** Stores the hash of a token requested at this time, unless it is stored already. Returns when the token expires. */
export async function putToken(
  sql: Sql,
  token: {
    hash: Uint8Array
    purpose: 'password_reset' | 'email_verify'
    userId: string
    requestedAt: Date
    ttlSeconds: number
  },
): Promise<Date> {
  await sql`
    insert into app.tokens (token_hash, purpose, user_id, created_at, expires_at)
    values (${token.hash}, ${token.purpose}, ${token.userId}, ${token.requestedAt}, now() + make_interval(secs => ${token.ttlSeconds}::int))
    on conflict (token_hash) do nothing`
  const expiresAt = await findExpiry(sql, token.hash)
  if (expiresAt === null) throw new Error('no token was written')
  return expiresAt
}

export interface MembershipContact {
  readonly email: string
  readonly shop: string
  readonly role: string
}

/** Returns a user's membership in the tenant, also a revoked one. Returns null like `findUserContact`. */
export async function findMembershipContact(sql: TenantTransaction, userId: string): Promise<MembershipContact | null> {
  const [row] = await sql<MembershipContact>`
    select u.email, t.legal_name as shop, r.label as role
      from app.memberships m
      join app.users u on u.id = m.user_id and u.disabled_at is null and u.bounced_at is null
      join app.tenants t on t.id = m.tenant_id
      join app.roles r on r.id = m.role_id
     where m.user_id = ${userId}`
  return row ?? null
}

/** Reserves the next time at which an email may be sent, over all mailers. Returns how long to wait for it. */
export async function reserveSend(sql: Sql, sendsPerSecond: number): Promise<number> {
  const [row] = await sql<{ wait_ms: number }>`
    update app.mail_pace
       set next_at = greatest(next_at, clock_timestamp()) + make_interval(secs => 1 / ${sendsPerSecond}::float8)
    returning 1000 * (extract(epoch from next_at - clock_timestamp())::float8 - 1 / ${sendsPerSecond}::float8) as wait_ms`
  return Math.max(0, row?.wait_ms ?? 0)
}
