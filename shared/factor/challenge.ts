import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Pepper } from '#shared/secret/token-secrets.ts'

const LABEL = 'tenantry passkey challenge v1'
// WebAuthn asks for at least 16 random bytes: https://www.w3.org/TR/webauthn-3/#sctn-cryptographic-challenges
const RANDOM_BYTES = 16
const EXPIRY_BYTES = 6
const BOUND_BYTES = RANDOM_BYTES + EXPIRY_BYTES
const LIFETIME_MS = 600_000

/**
 * What a challenge is for: the token of an open sign-in, or the id of a session. A sign-in by a passkey alone has no subject. The
 * answer to a challenge for one of them is refused for every other.
 */
export type ChallengeFor =
  | { readonly purpose: 'sign-in' }
  | { readonly purpose: 'second-factor' | 'step-up' | 'registration'; readonly subject: string }

/** A challenge that was ours and has not expired. The database stores its key when it is used. */
export interface SentChallenge {
  readonly key: Buffer
  readonly expiresAt: Date
}

const macOf = (pepper: string, what: ChallengeFor, bound: Uint8Array): Buffer =>
  createHmac('sha256', pepper)
    .update([LABEL, what.purpose, 'subject' in what ? what.subject : '', ''].join('\0'))
    .update(bound)
    .digest()

/** Returns a new challenge in base64url, for ten minutes. Nothing stores it: the HMAC shows that it is ours. */
export function newChallenge(pepper: string, what: ChallengeFor): string {
  const bound = Buffer.concat([randomBytes(RANDOM_BYTES), Buffer.alloc(EXPIRY_BYTES)])
  bound.writeUIntBE(Date.now() + LIFETIME_MS, RANDOM_BYTES, EXPIRY_BYTES)
  return Buffer.concat([bound, macOf(pepper, what, bound)]).toString('base64url')
}

/** Reads a challenge. Returns null unless it is ours, for this and still valid. The current and the previous pepper made ours. */
export function readChallenge(
  { pepper, pepperPrevious }: Pepper,
  challenge: string,
  what: ChallengeFor,
): SentChallenge | null {
  const bytes = Buffer.from(challenge, 'base64url')
  const [bound, mac] = [bytes.subarray(0, BOUND_BYTES), bytes.subarray(BOUND_BYTES)]
  const isOurs = [pepper, pepperPrevious]
    .filter((key) => key !== undefined)
    .map((key) => macOf(key, what, bound))
    .some((right) => mac.length === right.length && timingSafeEqual(mac, right))
  if (!isOurs) return null
  const expiresAt = new Date(bound.readUIntBE(RANDOM_BYTES, EXPIRY_BYTES))
  return expiresAt.getTime() > Date.now() ? { key: hash('sha256', bytes, 'buffer'), expiresAt } : null
}
