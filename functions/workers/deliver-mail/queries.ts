import type { Sql } from '#shared/db/connect.ts'
import { limitValue } from '#shared/db/composite.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import type { Recipient, UserContact } from '#shared/mail/templates.ts'
import type { LeasedJob } from '#shared/queue/queries.ts'
import type { StoredToken } from '#shared/identity/token.ts'

// The functions of migration 0020 return the recipient of a leased mail, with the time zone of its tenant or of the user's first. They throw TN403 when the lease has ended.

/** The token in a link. */
interface Link {
  readonly expires_at: string
  /** The place of the stored token, from 1. */
  readonly token: number
}

interface OpenInvitation extends Recipient, Link {
  readonly expired: boolean
  readonly slug: string
  readonly legal_name: string
  /** The label of the role. */
  readonly role: string
  readonly role_code: string
  /** The verified address of the inviter. Null when the platform invites. */
  readonly inviter: string | null
}

const hex = (tokens: readonly StoredToken[]): string => tokens.map(({ hash }) => hash.toString('hex')).join()

/**
 * Returns the open invitation of a job, whose token is one of these. Returns null when it was accepted, cancelled or renewed, when
 * its address is a disabled user's, or when mail to it bounced, which it records.
 */
export async function findInvitation(
  sql: Sql,
  { id, lease_token: lease }: LeasedJob,
  tokens: readonly StoredToken[],
): Promise<OpenInvitation | null> {
  const [row] = await sql<OpenInvitation>`
    select m.* from app.mail_of_invitation(${id}, ${lease}, (
      select array_agg(decode(hash, 'hex') order by n) from unnest(string_to_array(${hex(tokens)}, ',')) with ordinality as t (hash, n))) m`
  return row ?? null
}

/** Returns the address of a job's user, or null when the user is disabled or mail to it bounced. */
export async function findUser(sql: Sql, { id, lease_token: lease }: LeasedJob): Promise<UserContact | null> {
  const [row] = await sql<UserContact>`
    select email, language, full_name, timezone from app.mail_of_user(${id}, ${lease}, null, null)`
  return row ?? null
}

/**
 * Stores the first token for a job's user, unless one of them is stored. Returns the stored one with the address. Returns null
 * like `findUser`, when a password reset that was requested then is void, and when the address is verified already.
 */
export async function issueToken(
  sql: Sql,
  { id, lease_token: lease }: LeasedJob,
  tokens: readonly StoredToken[],
  ttlSeconds: number,
): Promise<(UserContact & Link) | null> {
  const [row] = await sql<UserContact & Link>`
    select m.* from app.mail_of_user(${id}, ${lease}, (
      select array_agg(decode(hash, 'hex') order by n) from unnest(string_to_array(${hex(tokens)}, ',')) with ordinality as t (hash, n)),
      ${ttlSeconds}) m`
  return row ?? null
}

/**
 * Mails the newest open invitation of the address of a password reset, when it has no account. Its link becomes that of the nonce, and it
 * gets a job of its own. Does nothing within `resendSeconds` of the invitation, or over a limit.
 */
export async function remailInvitation(
  sql: Sql,
  { id, lease_token: lease }: LeasedJob,
  wanted: { tokenHash: Buffer; nonce: string; resendSeconds: number; mailboxLimit: Limit; recipientLimit: Limit },
): Promise<void> {
  await sql`
    select app.remail_invitation(
      ${id}, ${lease}, ${wanted.tokenHash}, ${wanted.nonce}, ${wanted.resendSeconds},
      ${limitValue(wanted.mailboxLimit)}::app.limit, ${limitValue(wanted.recipientLimit)}::app.limit)`
}

export interface MembershipContact extends UserContact {
  readonly slug: string
  readonly legal_name: string
  readonly role: string
  readonly role_code: string
  /** The address of the member. The recipient may be who invited them, or an owner of the tenant. */
  readonly member: string
  /** Of a mail about the second factor: from when on the tenant asks for one. */
  readonly second_factor_from: string | null
}

/** Returns the membership of a job's user in its tenant with the recipient, also a revoked one. Returns null like `findUser`. */
export async function findMembership(
  sql: Sql,
  { id, lease_token: lease }: LeasedJob,
): Promise<MembershipContact | null> {
  const [row] = await sql<MembershipContact>`select * from app.mail_of_membership(${id}, ${lease})`
  return row ?? null
}

/** A member who gets a mail about an API key of their tenant, and the key. */
export interface KeyContact extends UserContact {
  readonly slug: string
  readonly legal_name: string
  readonly name: string
  readonly permissions: readonly string[]
  readonly expires_at: string
  /** The address of who made it. */
  readonly maker: string
}

/** Returns the recipient and the key of a job, or null when there is no reason to write any more. */
export async function findKeyMail(sql: Sql, { id, lease_token: lease }: LeasedJob): Promise<KeyContact | null> {
  const [row] = await sql<KeyContact>`select * from app.mail_of_key(${id}, ${lease})`
  return row ?? null
}

/** Adds a mail for each member whom the tenant of a job asks for a second factor, and who has none. */
export async function announceSecondFactor(sql: Sql, { id, lease_token: lease }: LeasedJob): Promise<void> {
  await sql`select app.announce_second_factor(${id}, ${lease})`
}

/** An ended membership, with an owner of its tenant. */
export type DepartureContact = Omit<MembershipContact, 'second_factor_from'>

/** Returns the ended membership of a job with the owner who is told of it. Returns null like `findUser`, and when they are no owner any more. */
export async function findDeparture(sql: Sql, { id, lease_token: lease }: LeasedJob): Promise<DepartureContact | null> {
  const [row] = await sql<DepartureContact>`select * from app.mail_of_departure(${id}, ${lease})`
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
