import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import * as v from 'valibot'
import { type Config, ConfigError, parseConfig } from '#shared/config.ts'
import { connect, type Database } from '#shared/db/connect.ts'
import { type Login, type ReadLogin, secretLogin } from '#shared/db/login.ts'
import type { JobName } from '#shared/http/reply.ts'
import { countMetric, describeError, log } from '#shared/log.ts'
import { databaseRole, given, type Need } from '#shared/needs.ts'
import { createLimiter, type Limiter } from '#shared/rate-limit/limiter.ts'
import type { TokenSecrets } from '#shared/secret/secret.ts'
import { readSecret } from '#shared/secret/secrets-manager.ts'
import type { Vault } from '#shared/vault/vault.ts'

/** What a warm Lambda owns. */
export interface Runtime extends TokenSecrets {
  readonly config: Config
  readonly database: Database
  readonly limiter: Limiter
  /** Seals and opens the tenants' secrets. */
  readonly vault: Vault
  /** Starts a job's Lambda without waiting for it. Never rejects: the schedule finds what a lost call leaves. */
  readonly wake: (job: JobName) => Promise<void>
}

/** The settings, which are there at start, and the runtime, which is opened at the first request. */
export interface RuntimeSource {
  readonly config: Config
  readonly open: () => Promise<Runtime>
}

/** The service's secret as it is stored: in no database. The two others are there while it is being changed (infra/runbook.md). */
export interface ServiceSecret {
  readonly pepper: string
  readonly mail_key: string
  readonly pepper_previous?: string | undefined
  readonly mail_key_previous?: string | undefined
}

/** What a runtime is built from; null is what the function does not need. */
export interface Access {
  readonly login: ReadLogin | null
  /** Replaced when they were read again. */
  tokens: ServiceSecret | null
  readonly cache: { readonly url: string; readonly token: string } | null
  /** As the role that handles ciphertext. */
  readonly vaultLogin: ReadLogin | null
}

/** Makes the vault of a function that names it; given by that function alone, so that no other has the KMS client in it. */
export type OpenVault = (config: Config, login: ReadLogin) => Vault

const secret = (what: string) => v.pipe(v.string(`${what} is required`), v.minLength(32, `${what} is too short`))
const ServiceSecretSchema = v.object({
  pepper: secret('pepper'),
  mail_key: secret('mail_key'),
  pepper_previous: v.optional(secret('pepper_previous')),
  mail_key_previous: v.optional(secret('mail_key_previous')),
})
const CacheSecret = v.object({ url: v.pipe(v.string(), v.url()), token: v.string() })

/** Reads what the needs call for. Throws ConfigError at once when the settings do not say where that is. */
export function accessFor(config: Config, needs: readonly Need[]): () => Promise<Access> {
  const role = databaseRole(needs)
  const { secretIds } = config
  const missing = [
    ...(role !== null && secretIds.database === '' ? ['DATABASE_SECRET_ID'] : []),
    ...(needs.includes('tokens') && secretIds.tokens === '' ? ['SERVICE_SECRET_ID'] : []),
    ...(needs.includes('cache') && secretIds.cache === '' ? ['CACHE_SECRET_ID'] : []),
    ...(needs.includes('vault') && secretIds.vaultDatabase === '' ? ['VAULT_DATABASE_SECRET_ID'] : []),
    ...(needs.includes('vault') && config.vault.keyId === '' ? ['VAULT_KEY_ID'] : []),
  ]
  if (missing.length > 0) throw new ConfigError(`Settings that are required here: ${missing.join(', ')}`)
  return async () => {
    const loginBy = (secretId: string) => secretLogin(secretId, config.database.host || null)
    const readLogin = loginBy(secretIds.database)
    const [tokens, cache, login] = await Promise.all([
      needs.includes('tokens') ? readSecret(secretIds.tokens, ServiceSecretSchema) : null,
      needs.includes('cache') ? readSecret(secretIds.cache, CacheSecret) : null,
      role === null ? null : readLogin('AWSCURRENT'),
    ])
    return {
      login: login === null ? null : beginningWith(login, readLogin),
      tokens,
      cache,
      vaultLogin: needs.includes('vault') ? loginBy(secretIds.vaultDatabase) : null,
    }
  }
}

/** The first connection takes the login that was read with the other secrets; a connection has less time than a start. */
function beginningWith(login: Login, readLogin: ReadLogin): ReadLogin {
  let first: Login | null = login
  return async (version) => {
    const unused = version === 'AWSCURRENT' ? first : null
    first = null
    return unused ?? readLogin(version)
  }
}

/** Builds a runtime from settings and secrets. Opens no connection yet. What it was given no access to throws when used. */
export function createRuntime(
  config: Config,
  access: Access,
  { wake = invokeLambda, openVault = null }: { wake?: Runtime['wake']; openVault?: OpenVault | null } = {},
): Runtime {
  const { cache } = access
  const database = access.login === null ? null : connect(access.login, config.database)
  const vault = access.vaultLogin === null || openVault === null ? null : openVault(config, access.vaultLogin)
  const limiter =
    cache === null || database === null
      ? null
      : createLimiter({
          ...cache,
          sql: database.sql,
          degraded: (error) => {
            log.error('rate limits are counted in the database alone, because the cache failed', {
              error: describeError(error),
            })
            countMetric('LimiterDegraded')
          },
        })
  return {
    config,
    wake,
    get database() {
      return given(database, 'database:app')
    },
    get limiter() {
      return given(limiter, 'cache')
    },
    get pepper() {
      return given(access.tokens, 'tokens').pepper
    },
    get pepperPrevious() {
      return given(access.tokens, 'tokens').pepper_previous
    },
    get mailKey() {
      return given(access.tokens, 'tokens').mail_key
    },
    get mailKeyPrevious() {
      return given(access.tokens, 'tokens').mail_key_previous
    },
    get vault() {
      return given(vault, 'vault')
    },
  }
}

/**
 * The runtime of this process. Throws ConfigError at once when a setting does not parse or a need has none. Secrets are
 * read at the first request; a failure is not remembered, so that the next request tries again. The tokens' are read again
 * every five minutes (withFreshServiceSecret).
 */
export function processRuntime(needs: readonly Need[], openVault: OpenVault | null = null): RuntimeSource {
  const config = parseConfig(process.env)
  const make = (access: Access) => createRuntime(config, access, { openVault })
  return { config, open: withFreshServiceSecret(config, accessFor(config, needs), make) }
}

/** How long an instance goes on with tokens' secrets that were changed, at most, while Secrets Manager answers. */
export const SERVICE_SECRET_TTL_MS = 300_000
const AFTER_FAILURE_MS = 30_000
const REREAD_TIMEOUT_MS = 1000

/**
 * What `make` makes of the access at the first call, whose tokens' secrets are those of at most TOKENS_KEPT_MS ago. A Lambda
 * is frozen between two requests and has no other time than theirs, so the call that comes then waits for them. When they
 * cannot be had within a second, it goes on with those of before, says so in the log and as a metric, and asks again half
 * a minute later.
 */
export function withFreshServiceSecret<T>(
  { secretIds }: Pick<Config, 'secretIds'>,
  access: () => Promise<Access>,
  make: (access: Access) => T,
): () => Promise<T> {
  let staleAt = 0
  let reading: Promise<void> | null = null
  const opened = once(async () => {
    const found = await access()
    staleAt = Date.now() + SERVICE_SECRET_TTL_MS
    return { found, made: make(found) }
  })
  const reread = async (found: Access): Promise<void> => {
    try {
      found.tokens = await readSecret(secretIds.tokens, ServiceSecretSchema, { timeoutMs: REREAD_TIMEOUT_MS })
      staleAt = Date.now() + SERVICE_SECRET_TTL_MS
    } catch (error) {
      staleAt = Date.now() + AFTER_FAILURE_MS
      log.error('the secret was not read again; the one of before goes on', { error: describeError(error) })
      countMetric('SecretNotReread')
    }
    reading = null
  }
  return async () => {
    const { found, made } = await opened()
    if (found.tokens !== null && Date.now() >= staleAt) {
      reading ??= reread(found)
      await reading
    }
    return made
  }
}

/** A promise made at the first call and kept; a failure is not kept, so that the next call tries again. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null
  return () => {
    made ??= make().catch((error: unknown) => {
      made = null
      throw error
    })
    return made
  }
}

const WAKE_TIMEOUT_MS = 500
let lambda: LambdaClient | null = null

/** Invokes a job asynchronously: Lambda answers when it has queued the event. Never rejects. */
export async function invokeLambda(job: JobName): Promise<void> {
  lambda ??= new LambdaClient({ maxAttempts: 1 })
  try {
    const FunctionName = `${process.env['FUNCTION_PREFIX'] ?? ''}${job}`
    const command = new InvokeCommand({ FunctionName, InvocationType: 'Event' })
    await lambda.send(command, { abortSignal: AbortSignal.timeout(WAKE_TIMEOUT_MS) })
  } catch (error) {
    log.warn('a job was not woken; the schedule will find its work', { job, error: describeError(error) })
  }
}
