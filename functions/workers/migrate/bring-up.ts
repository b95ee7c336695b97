import type { SecureContext } from 'node:tls'
import postgres from 'postgres'
import { assertHealthy, inOneLine } from '#shared/doctor/doctor.ts'
import { clientOptions, type ReadLogin, type TlsOptions, trustFor } from '#shared/db/login.ts'
import { migrate } from '#shared/db/migrate.ts'
import { scramVerifier } from '#shared/db/scram.ts'
import { QUIET, signIn } from '#shared/db/sign-in.ts'
import { untilFree } from '#shared/db/until-free.ts'
import { log } from '#shared/base/log.ts'

// A dump of the audit log has its lock for as long as it takes.
const WHEN_BUSY = { tries: 30, pauseMs: 1000 }

/**
 * Prepares a database for the functions of this version: applies migrations, sets the passwords of the roles, and creates
 * the audit log's partitions for today and the next three months. Running it again changes nothing. When a migration fails, the earlier
 * ones stay applied. After a roll back the database is ahead of this version: no migration is applied, and the doctor examines
 * only the isolation of the tenants. Logs warnings of the doctor. Throws UnhealthyDatabase for a fault.
 */
export async function bringUp(options: {
  readonly owner: ReadLogin
  /** The logins of the service's roles. The migrations create roles of these names. */
  readonly roles: readonly ReadLogin[]
  readonly folder: string
  readonly security: TlsOptions
}): Promise<{ applied: string[]; ahead: string[]; passwords: string[] }> {
  const trust = trustFor(options.security)
  const server = clientOptions(await options.owner('AWSCURRENT'), trust)
  const { applied, ahead } = await migrate(server, options.folder)
  const sql = postgres({ ...server, ...QUIET })
  try {
    const passwords: string[] = []
    for (const role of options.roles) {
      if (await isCurrent(role, trust)) continue
      const { username, password } = await role('AWSCURRENT')
      // ALTER ROLE takes no parameters; format() quotes. The verifier keeps the password out of logs and statistics.
      const [statement] = await sql<{ text: string }[]>`
        select format('alter role %I password %L', ${username}::text, ${scramVerifier(password)}::text) as text`
      await sql.unsafe(statement?.text ?? '')
      passwords.push(username)
    }
    const createPartitions = () =>
      sql.begin(async (tx) => {
        await tx`set local role identity_owner`
        await tx`
          select app.create_audit_partition((day at time zone 'UTC')::date)
            from unnest(array[now(), now() + interval '3 months']) as day`
      })
    await untilFree(WHEN_BUSY, createPartitions)
    for (const diagnosis of await assertHealthy(sql, options.folder)) {
      if (diagnosis.severity === 'warning') log.warn(inOneLine(diagnosis))
    }
    log.info('prepared the database for this version', { applied, ahead, passwords })
    return { applied, ahead, passwords }
  } finally {
    await sql.end({ timeout: 1 })
  }
}

/**
 * Returns whether a role can sign in with its secret, or with the pending version of a rotation. Resetting the password
 * during a rotation would lock the role out when the rotation ends.
 */
async function isCurrent(role: ReadLogin, trust: SecureContext | null): Promise<boolean> {
  if (await signIn(await role('AWSCURRENT'), trust)) return true
  const pending = await role('AWSPENDING').catch(() => null)
  return pending !== null && (await signIn(pending, trust))
}
