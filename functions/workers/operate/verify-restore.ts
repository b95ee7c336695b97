import type postgres from 'postgres'
import { errorCode, INVALID_PASSWORD } from '#shared/db/failure.ts'
import { type Login, trustFor } from '#shared/db/login.ts'
import { connected } from '#shared/db/sign-in.ts'
import { examine as examineDatabase, report } from '#shared/doctor/doctor.ts'
import { log } from '#shared/base/log.ts'
import type { Command, Outcome } from './commands.ts'
import type { Examined } from './examine.ts'
import type { Instruction } from './instruction.ts'

type VerifyRestore = Extract<Command, { command: 'verify-restore' }>

/** The part of an endpoint's name that all clusters of an account and a Region share. */
const domainOf = (host: string): string => host.slice(host.indexOf('.'))

/**
 * Examines a restored cluster beside the current one, and counts what a tenant would miss first in both. Refuses a host that is no
 * endpoint of this account and Region, so that nobody else is offered the login. The restored cluster has the password of its time,
 * so it tries the previous one too.
 */
export async function verifyRestore(
  { login, security, folder }: Examined,
  { host, database }: VerifyRestore,
  { operator, reason }: Instruction,
): Promise<Outcome> {
  const current = await login('AWSCURRENT')
  const restored = { ...current, host, dbname: database ?? current.dbname }
  if (domainOf(host) !== domainOf(current.host))
    return { refused: `${host} is no endpoint beside ${current.host}: only its first part may differ` }
  if (host === current.host && restored.dbname === current.dbname) return { refused: `${host} is the current database` }
  log.info('an operator verifies a restored database', { operator, reason, host, database: restored.dbname })
  const trust = trustFor(security)
  const inspect = (from: Login) =>
    connected(from, trust, async (sql) => ({
      counts: await countRows(sql),
      findings: report(await examineDatabase(sql, folder)),
    }))
  const copy = await inspect(restored).catch(async (error: unknown) => {
    if (errorCode(error) !== INVALID_PASSWORD) throw error
    return inspect({ ...restored, password: (await login('AWSPREVIOUS')).password })
  })
  const { counts } = await inspect(current)
  const rows = Object.entries(copy.counts).map(([table, restored]) => {
    const now = counts[table] ?? 0
    return { table, restored, current: now, difference: restored - now }
  })
  return { done: { restored: host, rows, report: copy.findings } }
}

async function countRows(sql: postgres.Sql): Promise<Readonly<Record<string, number>>> {
  const [row] = await sql<Readonly<Record<string, number>>[]>`
    select (select count(*) from app.tenants)::int as tenants, (select count(*) from app.users)::int as users,
           (select count(*) from app.memberships)::int as memberships,
           (select count(*) from app.sessions where revoked_at is null)::int as sessions`
  return row ?? {}
}
