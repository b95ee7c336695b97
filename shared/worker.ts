import { type Config, parseConfig } from '#shared/config.ts'
import { connect, type Database } from '#shared/db/connect.ts'
import { once, readServiceSecret } from '#shared/runtime.ts'

/** What a job's Lambda owns: the queue and the tenants' rows by the worker's role, and the secrets that mails need. */
export interface Worker {
  readonly config: Config
  readonly database: Database
  readonly pepper: string
  readonly mailKey: string
}

/**
 * The worker of this process, opened at the first invocation, by the role of the URL that is named. Throws ConfigError when
 * a setting does not parse.
 */
export function processWorker(role: 'worker_database_url' | 'operator_database_url' = 'worker_database_url'): {
  readonly open: () => Promise<Worker>
} {
  const config = parseConfig(process.env)
  return {
    open: once(async () => {
      const secrets = await readServiceSecret(config.serviceSecretId)
      const database = connect(secrets[role], config.database)
      return { config, database, pepper: secrets.pepper, mailKey: secrets.mail_key }
    }),
  }
}
