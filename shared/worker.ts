import { type Config, parseConfig } from '#shared/config.ts'
import { connect, type Database } from '#shared/db/connect.ts'
import type { Job } from '#shared/job.ts'
import { given } from '#shared/needs.ts'
import { accessFor, once } from '#shared/runtime.ts'

/** What a job's Lambda owns: the database by the role that it names, and the secrets that mails need. */
export interface Worker {
  readonly config: Config
  readonly database: Database
  readonly pepper: string
  readonly mailKey: string
}

/**
 * The worker of this process, opened at the first invocation. Throws ConfigError when a setting does not parse or a need
 * has none. What the job does not name among its needs throws when used.
 */
export function processWorker({ needs }: Job): { readonly open: () => Promise<Worker> } {
  const config = parseConfig(process.env)
  const access = accessFor(config, needs)
  return {
    open: once(async () => {
      const { login, tokens } = await access()
      const database = connect(given(login, 'database:worker'), config.database)
      return {
        config,
        database,
        get pepper() {
          return given(tokens, 'tokens').pepper
        },
        get mailKey() {
          return given(tokens, 'tokens').mail_key
        },
      }
    }),
  }
}
