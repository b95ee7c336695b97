import * as v from 'valibot'
import type { LimitInput } from '#shared/http/request-context.ts'
import { perNetwork } from '#shared/http/limit-by.ts'
import { Problem } from '#shared/base/problem.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import { type TokenHashes, tokenHashes } from '#shared/secret/secret.ts'
import type { Pepper } from '#shared/secret/token-secrets.ts'
import { isToken, SentToken } from '#shared/identity/token.ts'
import { Address } from '#shared/schema/email.ts'

/** A 400, the same for a token that is unknown, expired, malformed or for another purpose. */
export const tokenInvalid = (reason: string): Problem =>
  new Problem('token-invalid', { detail: 'This link is invalid or has expired.', reason })

/** Returns the hashes under which a token may be stored. Throws `token-invalid` for a malformed token. */
export function hashSentToken(peppers: Pepper, token: string): TokenHashes {
  if (!isToken(token)) throw tokenInvalid('malformed token')
  return tokenHashes(peppers, token)
}

/** Limits the tokens that a client may try. */
export const tokenLimits = (input: LimitInput<unknown>): Limit[] => {
  const { ipLimit: limit, windowSeconds } = input.config.login
  return [perNetwork('token-ip', input, { limit, windowSeconds })]
}

/** What a route accepts and returns that says whom a mailed token is for, and does not consume it. */
export const inspection = {
  access: 'anyone',
  audit: { none: 'it changes nothing' },
  body: v.object({ token: SentToken }),
  reply: v.object({ email: Address }),
  problems: ['token-invalid'],
  limits: tokenLimits,
} as const
