import * as v from 'valibot'
import { type Config, ConfigError, parseConfig } from '#shared/base/config.ts'
import { connect, type Database, type Invocations } from '#shared/db/connect.ts'
import { type Login, type ReadLogin, secretLogin } from '#shared/db/login.ts'
import { describeError, log } from '#shared/base/log.ts'
import { countMetric } from '#shared/base/metrics.ts'
import { type DatabaseRole, databaseRole, INVOKED_JOBS, type InvokedJob, type Need } from '#shared/base/needs.ts'
import { once } from '#shared/base/once.ts'
import type { CacheAccess } from '#shared/rate-limit/cache-requester.ts'
import type { Limiter } from '#shared/rate-limit/limiter.ts'
import { readSecret } from '#shared/secret/secrets-manager.ts'
import {
  type FactorKey,
  FactorKeySecret,
  type MailKey,
  MailKeySecret,
  type Pepper,
  PepperSecret,
  type WebKey,
  WebKeySecret,
} from '#shared/secret/token-secrets.ts'
import type { Vault } from '#shared/vault/vault.ts'

type Given<N extends Need, Named extends Need, Part> = [Extract<N, Named>] extends [never] ? unknown : Part

/** What a warm Lambda with these needs owns. What the needs do not name is not there. */
export type RuntimeFor<N extends Need> = { readonly config: Config } & Given<
  N,
  'database' | `database:${DatabaseRole}`,
  { readonly database: Database }
> &
  Given<N, 'cache', { readonly limiter: Limiter }> &
  Given<N, 'pepper', Pepper> &
  Given<N, 'mail-key', MailKey> &
  Given<N, 'factor-key', FactorKey> &
  Given<N, 'web-key', WebKey> &
  Given<N, 'vault', { readonly vault: Vault }>

/** Every part that any function can have: the runtime as the pipeline sees it, which serves endpoints with any needs. */
export type Runtime = RuntimeFor<Need>

/** Invokes a job's Lambda without waiting for its end. A rehearsal starts nothing. Never rejects. */
export type Invoke = (job: InvokedJob, mode?: 'rehearsal') => Promise<void>

/** The settings, which are parsed at the start, and the runtime, which is opened at the first request. */
export interface RuntimeSource<N extends Need = Need> {
  readonly config: Config
  readonly open: () => Promise<RuntimeFor<N>>
}

/** The credentials that a runtime is built from; null for what the needs do not name. */
export interface Credentials {
  readonly login: ReadLogin | null
  readonly pepper: Pepper | null
  readonly mailKey: MailKey | null
  readonly factorKey?: FactorKey | null
  readonly webKey?: WebKey | null
  readonly cache: CacheAccess | null
  readonly vaultLogin: ReadLogin | null
}

/** The parts that bring a library with them. A handler imports only those it needs, which keeps the others out of its bundle. */
export interface Parts {
  readonly openVault?: (config: Config, login: ReadLogin, invocations: Invocations) => Vault
  readonly openLimiter?: (cache: CacheAccess, database: Database) => Limiter
  readonly invoke?: Invoke
}

const CacheSecret = v.object({ url: v.pipe(v.string(), v.url()), token: v.string() })

/** Throws ConfigError when a setting is missing that the needs require. */
function requireSettings({ events, secretIds, vault }: Config, needs: readonly Need[]): void {
  const missing = [
    ...(databaseRole(needs) !== null && secretIds.database === '' ? ['DATABASE_SECRET_ID'] : []),
    ...(needs.includes('pepper') && secretIds.pepper === '' ? ['PEPPER_SECRET_ID'] : []),
    ...(needs.includes('mail-key') && secretIds.mailKey === '' ? ['MAIL_KEY_SECRET_ID'] : []),
    ...(needs.includes('factor-key') && secretIds.factorKey === '' ? ['FACTOR_KEY_SECRET_ID'] : []),
    ...(needs.includes('web-key') && secretIds.webKey === '' ? ['WEB_KEY_SECRET_ID'] : []),
    ...(needs.includes('cache') && secretIds.cache === '' ? ['CACHE_SECRET_ID'] : []),
    ...(needs.includes('vault') && secretIds.vaultDatabase === '' ? ['VAULT_DATABASE_SECRET_ID'] : []),
    ...(needs.includes('event-bus') && events.bus === '' ? ['EVENT_BUS_NAME'] : []),
    ...(needs.includes('vault') && vault.keyId === '' ? ['VAULT_KEY_ID'] : []),
  ]
  if (missing.length > 0) throw new ConfigError(`Settings that are required here: ${missing.join(', ')}`)
}

/** Reads the pepper, the mail key and the factor key, or null for what the needs do not name. */
async function readTokenSecrets({ secretIds }: Config, needs: readonly Need[], options: { timeoutMs?: number } = {}) {
  const [pepper, mailKey, factorKey] = await Promise.all([
    needs.includes('pepper') ? readSecret(secretIds.pepper, PepperSecret, options) : null,
    needs.includes('mail-key') ? readSecret(secretIds.mailKey, MailKeySecret, options) : null,
    needs.includes('factor-key') ? readSecret(secretIds.factorKey, FactorKeySecret, options) : null,
  ])
  return { pepper, mailKey, factorKey }
}

async function readCredentials(config: Config, needs: readonly Need[]): Promise<Credentials> {
  const { secretIds, database } = config
  const loginBy = (secretId: string) => secretLogin(secretId, database.host || null)
  const readLogin = loginBy(secretIds.database)
  const [tokenSecrets, webKey, cache, login] = await Promise.all([
    readTokenSecrets(config, needs),
    needs.includes('web-key') ? readSecret(secretIds.webKey, WebKeySecret) : null,
    needs.includes('cache') ? readSecret(secretIds.cache, CacheSecret) : null,
    databaseRole(needs) === null ? null : readLogin('AWSCURRENT'),
  ])
  return {
    login: login === null ? null : beginningWith(login, readLogin),
    ...tokenSecrets,
    webKey,
    cache,
    vaultLogin: needs.includes('vault') ? loginBy(secretIds.vaultDatabase) : null,
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

/** Builds the runtime that the needs call for. Opens no connection yet. Throws when credentials or a part for a need are missing. */
export function createRuntime<const N extends Need>(
  needs: readonly N[],
  config: Config,
  credentials: Credentials,
  { invoke, openLimiter, openVault }: Parts = {},
): RuntimeFor<N> {
  const named: readonly Need[] = needs
  const given = <Part>(part: Part | null | undefined, need: Need): Part => {
    if (part === null || part === undefined) throw new Error(`nothing was given for the need ${need}`)
    return part
  }
  const role = databaseRole(named)
  const invocations = new Map(
    INVOKED_JOBS.filter((job) => named.includes(`invoke:${job}`)).map((job) => {
      const send = given(invoke, `invoke:${job}`)
      return [job, (mode?: 'rehearsal') => send(job, mode)]
    }),
  )
  const database =
    role === null ? null : connect(given(credentials.login, `database:${role}`), config.database, invocations)
  const runtime = {
    config,
    ...(database === null ? {} : { database }),
    ...(named.includes('cache')
      ? { limiter: given(openLimiter, 'cache')(given(credentials.cache, 'cache'), given(database, 'cache')) }
      : {}),
    ...(named.includes('pepper') ? given(credentials.pepper, 'pepper') : {}),
    ...(named.includes('mail-key') ? given(credentials.mailKey, 'mail-key') : {}),
    ...(named.includes('factor-key') ? given(credentials.factorKey, 'factor-key') : {}),
    ...(named.includes('web-key') ? given(credentials.webKey, 'web-key') : {}),
    ...(named.includes('vault')
      ? { vault: given(openVault, 'vault')(config, given(credentials.vaultLogin, 'vault'), invocations) }
      : {}),
  }
  // Each part is there exactly when RuntimeFor says so.
  return runtime as unknown as RuntimeFor<N>
}

/** How long an instance uses a pepper, a mail key or a factor key that was changed, at most, while Secrets Manager can be reached. */
export const TOKEN_SECRETS_TTL_MS = 300_000
const RETRY_AFTER_MS = 30_000
const REFRESH_TIMEOUT_MS = 1000

/**
 * The runtime of this process. Throws ConfigError when a setting does not parse or is missing for a need.
 *
 * Secrets are read at the first `open`; after a failure the next call tries again. `open` reads the pepper, the
 * mail key and the factor key again when they are older than TOKEN_SECRETS_TTL_MS. Its request waits for that, because a Lambda is frozen
 * between requests. When that fails within a second, `open` keeps the cached values and tries again half a minute later.
 */
export function openRuntime<const N extends Need>(
  { needs }: { readonly needs: readonly N[] },
  parts: Parts = {},
): RuntimeSource<N> {
  const config = parseConfig(process.env)
  requireSettings(config, needs)
  const hasSecret = needs.some((need) => need === 'pepper' || need === 'mail-key' || need === 'factor-key')
  let staleAt = 0
  let refreshing: Promise<void> | null = null
  const opened = once(async () => {
    const credentials = await readCredentials(config, needs)
    staleAt = Date.now() + TOKEN_SECRETS_TTL_MS
    return createRuntime(needs, config, credentials, parts)
  })
  const refresh = async (runtime: RuntimeFor<N>): Promise<void> => {
    try {
      const secrets = await readTokenSecrets(config, needs, { timeoutMs: REFRESH_TIMEOUT_MS })
      Object.assign(runtime, secrets.pepper, secrets.mailKey, secrets.factorKey)
      staleAt = Date.now() + TOKEN_SECRETS_TTL_MS
    } catch (error) {
      staleAt = Date.now() + RETRY_AFTER_MS
      log.error('could not refresh the pepper, the mail key or the factor key; keeping the cached values', {
        error: describeError(error),
      })
      countMetric('SecretRefreshFailed')
    }
    refreshing = null
  }
  const open = async () => {
    const runtime = await opened()
    if (hasSecret && Date.now() >= staleAt) {
      refreshing ??= refresh(runtime)
      await refreshing
    }
    return runtime
  }
  return { config, open }
}
