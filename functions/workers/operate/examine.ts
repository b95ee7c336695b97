import { type ReadLogin, type TlsOptions, trustFor } from '#shared/db/login.ts'
import { connected } from '#shared/db/sign-in.ts'
import { examine as examineDatabase, report } from '#shared/doctor/doctor.ts'
import { log } from '#shared/base/log.ts'
import { RELEASE } from '#shared/base/release.ts'
import type { Outcome } from './commands.ts'
import type { Instruction } from './instruction.ts'

/** The database to examine, and the folder of its migrations. */
export interface Examined {
  readonly login: ReadLogin
  readonly security: TlsOptions
  readonly folder: string
}

/** Runs the doctor in one transaction that only reads. Logs who looks, and why. Names the release. What the login may not read is UNSEEN. */
export async function examine({ login, security, folder }: Examined, instruction: Instruction): Promise<Outcome> {
  const { operator, reason } = instruction
  log.info('an operator examines the database', { operator, reason })
  const findings = await connected(await login('AWSCURRENT'), trustFor(security), (sql) => examineDatabase(sql, folder))
  return { done: { release: RELEASE, report: report(findings) } }
}
