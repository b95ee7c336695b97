import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import * as v from 'valibot'
import { type Config, parseConfig } from '#shared/config.ts'
import { connect, type Database } from '#shared/db/connect.ts'
import { countMetric, describeError, log } from '#shared/log.ts'
import { createLimiter, type Limiter } from '#shared/rate-limit/limiter.ts'

/** What a warm Lambda owns. */
export interface Runtime {
  readonly config: Config
  readonly database: Database
  readonly limiter: Limiter
  /** Application configuration that is in no store: token keys and hashes of addresses depend on it. */
  readonly pepper: string
}

/** The settings, which are there at start, and the runtime, which is opened at the first request. */
export interface RuntimeSource {
  readonly config: Config
  readonly open: () => Promise<Runtime>
}

const secret = (what: string) => v.pipe(v.string(`${what} is required`), v.minLength(32, `${what} is too short`))

const ServiceSecret = v.object({
  pepper: secret('pepper'),
  database_url: v.string('database_url is required'),
  cache_url: v.pipe(v.string('cache_url is required'), v.url('cache_url is no URL')),
  cache_token: v.string('cache_token is required'),
})

export type ServiceSecret = v.InferOutput<typeof ServiceSecret>

/** Builds a runtime from settings and secrets. Opens no connection yet. */
export function createRuntime(config: Config, secrets: ServiceSecret): Runtime {
  const database = connect(secrets.database_url, config.database)
  const limiter = createLimiter({
    url: secrets.cache_url,
    token: secrets.cache_token,
    sql: database.sql,
    degraded: (error) => {
      log.error('rate limits are counted in the database alone, because the cache failed', {
        error: describeError(error),
      })
      countMetric('LimiterDegraded')
    },
  })
  return { config, database, limiter, pepper: secrets.pepper }
}

/**
 * The runtime of this process. Throws ConfigError at once when a setting does not parse. Secrets are read at the first
 * request, once; a failure is not remembered, so that the next request tries again.
 */
export function processRuntime(): RuntimeSource {
  const config = parseConfig(process.env)
  let opening: Promise<Runtime> | null = null
  const open = async (): Promise<Runtime> => createRuntime(config, await readServiceSecret(config.serviceSecretId))
  return {
    config,
    open: () => {
      opening ??= open().catch((error: unknown) => {
        opening = null
        throw error
      })
      return opening
    },
  }
}

async function readServiceSecret(id: string): Promise<ServiceSecret> {
  const client = new SecretsManagerClient({ maxAttempts: 2 })
  const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: id }))
  return v.parse(
    v.pipe(v.string(), v.parseJson(undefined, 'the service secret is not JSON'), ServiceSecret),
    SecretString,
  )
}
