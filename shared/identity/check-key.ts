import type { Config } from '#shared/base/config.ts'
import type { Database } from '#shared/db/connect.ts'
import type { Run } from '#shared/db/run.ts'
import { isLimited, type Limited } from '#shared/identity/api-key-queries.ts'
import type { Unauthenticated } from '#shared/identity/check-session.ts'
import { type TokenHashes, tokenHashes } from '#shared/secret/secret.ts'
import type { Pepper } from '#shared/secret/token-secrets.ts'

/** A key sent as many requests in a minute as it may: what its 429 says. */
export interface KeyLimited extends Limited {
  readonly limit: { readonly name: 'api-key'; readonly limit: number; readonly windowSeconds: 60 }
}

/** Resolves an API key to its principal by this statement, which counts the request. Otherwise returns why it is refused. */
export async function checkKey<Found extends object>(
  runtime: { readonly database: Database; readonly config: Config } & Pepper,
  key: string,
  find: (sql: Run, hashes: TokenHashes, mostPerMinute: number) => Promise<Found | Limited | null>,
): Promise<Found | KeyLimited | Unauthenticated> {
  const { limit } = runtime.config.apiKey
  const found = await find(runtime.database.call.repeatable, tokenHashes(runtime, key), limit)
  if (found === null) return { cause: 'unknown', reason: 'no live API key has this text', tokenSent: true }
  return isLimited(found) ? { ...found, limit: { name: 'api-key', limit, windowSeconds: 60 } } : found
}
