import type { LimitInput } from '#shared/http/endpoint.ts'
import { Problem } from '#shared/problem.ts'
import { clientNetwork, type Limit } from '#shared/rate-limit/limit.ts'
import { keyedHash, type TokenHashes, tokenHashes } from '#shared/secret/secret.ts'
import type { ServiceSecret } from '#shared/secret/service-secret.ts'
import { isToken } from '#shared/token/token.ts'

/** 400, the same for a token that is unknown, expired, for another purpose, or none at all. */
export const tokenInvalid = (reason: string): Problem =>
  new Problem('token-invalid', { detail: 'This link is invalid or has expired.', reason })

/** The stored forms of a token that was sent. Throws `token-invalid` for what cannot be one. */
export function hashSentToken(secrets: ServiceSecret, token: string): TokenHashes {
  if (!isToken(token)) throw tokenInvalid('not a token')
  return tokenHashes(secrets, token)
}

/** How many tokens an address may try. */
export const tokenLimits = ({ client, config, pepper }: LimitInput<unknown>): Limit[] => [
  {
    name: 'token-ip',
    subject: keyedHash(pepper, 'token-ip', clientNetwork(client.ip)),
    limit: config.login.ipLimit,
    windowSeconds: config.login.windowSeconds,
  },
]
