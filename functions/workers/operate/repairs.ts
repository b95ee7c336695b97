import type { Sql } from '#shared/db/connect.ts'
import { errorCode } from '#shared/db/failure.ts'
import { log } from '#shared/base/log.ts'
import { invoking } from '#shared/queue/queries.ts'
import type { RepairCommand } from './commands.ts'
import type { Instruction } from './instruction.ts'
import { Refused } from './refused.ts'

type Of<Name extends RepairCommand['command']> = Extract<RepairCommand, { command: Name }>

/** Repairs a stage. It concerns no tenant, so the log of the function says who did it, and why. */
export function repair(sql: Sql, command: RepairCommand, instruction: Instruction): Promise<Record<string, unknown>> {
  const { operator, reason } = instruction
  log.info('an operator repairs the stage', { operator, reason, repair: command })
  switch (command.command) {
    case 'renew-seal':
      return renewSeal(sql)
    case 'send-events':
      return sendEvents(sql, command)
    case 'end-connections':
      return endConnections(sql, command, instruction)
    case 'create-partition':
      return createPartition(sql, command)
  }
}

/** Replaces the keys that seal tickets and tenants. Requests in progress fail. */
async function renewSeal(sql: Sql) {
  await sql`select app.renew_seal()`
  return { renewed: true }
}

/** Has the publisher send what waits or was dead-lettered, and what the bus took since a time. */
async function sendEvents(sql: Sql, { since }: Of<'send-events'>) {
  const [row] = await invoking(sql, 'event')<{ jobs: number }>`
    select app.send_events_again(${since ?? null}::text::timestamptz) as jobs`
  return { jobs: row?.jobs ?? 0 }
}

async function endConnections(sql: Sql, { login, pid }: Of<'end-connections'>, { operator, reason }: Instruction) {
  const ended = await refusing(
    { '22023': `${login} is no login of a service`, '42501': NO_POWER },
    sql<{ pid: number }>`select pid from app.end_connections(${login}, ${pid ?? null}, ${`${operator}: ${reason}`})`,
  )
  if (pid !== undefined && ended.length === 0) throw new Refused(`${login} has no connection ${pid}`)
  return { login, ended: ended.map((connection) => connection.pid) }
}

const NO_POWER = 'The database lets nobody end a connection. operate doctor has the repair: revocation-power'

async function createPartition(sql: Sql, { year }: Of<'create-partition'>) {
  const [row] = await refusing(
    {
      '22023': 'A partition is for one of the last two years, this one or the next',
      '55P03':
        'Another transaction has locked the audit log. operate sql transactions names it. End it, and run the command again',
    },
    sql<{ partition: string }>`select app.create_audit_partition(make_date(${year}, 1, 1))::text as partition`,
  )
  return { partition: row?.partition ?? null }
}

/** Refuses a command whose statement fails with one of these SQLSTATEs, with its sentence. */
async function refusing<T>(refusals: Readonly<Record<string, string>>, statement: Promise<T>): Promise<T> {
  try {
    return await statement
  } catch (error) {
    const sentence = refusals[errorCode(error)]
    throw sentence === undefined ? error : new Refused(sentence)
  }
}
