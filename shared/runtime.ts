import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import * as v from 'valibot'
import { type Config, parseConfig } from '#shared/config.ts'
import { connect, type Database } from '#shared/db/connect.ts'
import type { JobName } from '#shared/http/reply.ts'
import { countMetric, describeError, log } from '#shared/log.ts'
import { createLimiter, type Limiter } from '#shared/rate-limit/limiter.ts'

/** What a warm Lambda owns. */
export interface Runtime {
  readonly config: Config
  readonly database: Database
  readonly limiter: Limiter
  /** Application configuration that is in no store: token keys and hashes of addresses depend on it. */
  readonly pepper: string
  /** The key that single-use tokens are derived with; in no store either. */
  readonly mailKey: string
  /** Starts a job's Lambda without waiting for it. Never rejects: the schedule finds what a lost call leaves. */
  readonly wake: (job: JobName) => Promise<void>
}

/** The settings, which are there at start, and the runtime, which is opened at the first request. */
export interface RuntimeSource {
  readonly config: Config
  readonly open: () => Promise<Runtime>
}

const secret = (what: string) => v.pipe(v.string(`${what} is required`), v.minLength(32, `${what} is too short`))

const ServiceSecret = v.object({
  pepper: secret('pepper'),
  mail_key: secret('mail_key'),
  database_url: v.string('database_url is required'),
  worker_database_url: v.string('worker_database_url is required'),
  operator_database_url: v.string('operator_database_url is required'),
  cache_url: v.pipe(v.string('cache_url is required'), v.url('cache_url is no URL')),
  cache_token: v.string('cache_token is required'),
})

export type ServiceSecret = v.InferOutput<typeof ServiceSecret>

/** Builds a runtime from settings and secrets. Opens no connection yet. */
export function createRuntime(config: Config, secrets: ServiceSecret, wake: Runtime['wake'] = invokeLambda): Runtime {
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
  return { config, database, limiter, pepper: secrets.pepper, mailKey: secrets.mail_key, wake }
}

/**
 * The runtime of this process. Throws ConfigError at once when a setting does not parse. Secrets are read at the first
 * request, once; a failure is not remembered, so that the next request tries again.
 */
export function processRuntime(): RuntimeSource {
  const config = parseConfig(process.env)
  return {
    config,
    open: once(async () => createRuntime(config, await readServiceSecret(config.serviceSecretId))),
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

/** The service's secrets, from Secrets Manager. Throws when they are not there or not whole. */
export async function readServiceSecret(id: string): Promise<ServiceSecret> {
  const client = new SecretsManagerClient({ maxAttempts: 2 })
  const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: id }))
  return v.parse(
    v.pipe(v.string(), v.parseJson(undefined, 'the service secret is not JSON'), ServiceSecret),
    SecretString,
  )
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
