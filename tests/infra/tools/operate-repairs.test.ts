import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { describe, expect, it, onTestFinished } from 'vitest'
import { useOperator } from './operator-commands.ts'

const { service, command } = useOperator()

/** Opens a connection of its own, and returns it with its process. */
async function connection(url: string) {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  onTestFinished(() => sql.end({ timeout: 1 }))
  const [own] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const pid = own?.pid ?? 0
  // The driver may have opened another one in its place.
  const isOpen = () => sql`select where pg_backend_pid() = ${pid}`.then(({ count }) => count === 1).catch(() => false)
  return { sql, pid, isOpen }
}

async function done(...words: string[]): Promise<any> {
  const { code, stdout, stderr } = await command(...words, '--json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout).done
}

describe('operate end-connections', () => {
  it('ends the connections of a login, or one of them, and none of another login', async () => {
    const [one, two, other] = [
      await connection(service.database.appUrl),
      await connection(service.database.appUrl),
      await connection(service.database.urls.auth),
    ]
    expect(await done('end-connections', 'identity_app', '--pid', `${one.pid}`)).toEqual({
      login: 'identity_app',
      ended: [one.pid],
    })
    expect([await one.isOpen(), await two.isOpen()]).toEqual([false, true])
    expect((await done('end-connections', 'identity_app')).ended).toContain(two.pid)
    expect([await two.isOpen(), await other.isOpen()]).toEqual([false, true])
  })

  it('refuses a login that is of no service, and a process of another login', async () => {
    const owner = await service.sql<
      { name: string; pid: number }[]
    >`select current_user as name, pg_backend_pid() as pid`
    const { name = '', pid = 0 } = owner[0] ?? {}
    for (const login of [name, 'identity_owner', 'identity_gate', 'nobody'])
      expect(await command('end-connections', login)).toMatchObject({
        code: 1,
        stderr: `Refused: ${login} is no login of a service\n`,
      })
    expect(await command('end-connections', 'identity_auth', '--pid', `${pid}`)).toMatchObject({
      code: 1,
      stderr: `Refused: identity_auth has no connection ${pid}\n`,
    })
  })
})

describe('operate send-events', () => {
  const add = async (ends: { dead?: string; completed?: string; leased?: string; kind?: string }) => {
    const id = randomUUID()
    await service.sql`
      insert into app.jobs (id, kind, payload, idempotency_key, run_at, dead_at, completed_at, leased_until)
      values (${id}, ${ends.kind ?? 'event'}, '{"from": {}, "ids": ["a"]}', ${id}, now() + interval '1 hour',
              now() - ${ends.dead ?? null}::text::interval, now() - ${ends.completed ?? null}::text::interval,
              now() + ${ends.leased ?? null}::text::interval)`
    return id
  }
  /** Returns the jobs that are due, each with the events that it has left: null for all of its events. */
  const due = async (ids: readonly string[]) => {
    const rows = await service.sql<{ id: string; ids: string[] | null }[]>`
      select id, payload -> 'ids' as ids from app.jobs
       where id = any(${ids}) and run_at <= now() and completed_at is null and dead_at is null`
    return Object.fromEntries(rows.map(({ id, ids: left }) => [id, left]))
  }

  it('makes what waits and what was dead-lettered due, and with a time what the bus took since then, whole', async () => {
    await service.sql`delete from app.jobs where kind = 'event'`
    const waits = await add({})
    const dead = await add({ dead: '2 days' })
    const taken = await add({ completed: '1 hour' })
    const untouched = [
      await add({ completed: '3 hours' }),
      await add({ leased: '1 minute' }),
      await add({ kind: 'mail', dead: '1 hour' }),
    ]
    const all = [waits, dead, taken, ...untouched]
    expect(await done('send-events')).toEqual({ jobs: 2 })
    expect(await due(all)).toEqual({ [waits]: ['a'], [dead]: ['a'] })
    const since = new Date(Date.now() - 2 * 3_600_000).toISOString()
    expect(await done('send-events', '--since', since)).toEqual({ jobs: 3 })
    expect(await due(all)).toEqual({ [waits]: ['a'], [dead]: ['a'], [taken]: null })
  })
})

describe('operate create-partition', () => {
  const lastYear = new Date().getUTCFullYear() - 1

  it('creates the partition of a year, and refuses a year that none is for', async () => {
    const partition = `app.audit_log_${lastYear}`
    expect(await done('create-partition', `${lastYear}`)).toEqual({ partition })
    expect((await done('sql', 'partitions')).rows.map((row: { partition: string }) => row.partition)).toContain(
      partition,
    )
    expect(await done('create-partition', `${lastYear}`)).toEqual({ partition })
    expect(await command('create-partition', '2001')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Refused: A partition is for/),
    })
    expect(await command('create-partition', 'soon')).toMatchObject({ code: 2 })
  })

  it('refuses while another transaction has locked the log, which sql transactions names', async () => {
    const holder = await connection(service.database.appUrl)
    await holder.sql.unsafe('begin; select 1 from app.tenants limit 1; select 1 from app.audit_log limit 1')
    expect(await command('create-partition', `${lastYear - 1}`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('operate sql transactions names it'),
    })
    expect((await done('sql', 'transactions')).rows).toContainEqual({
      pid: holder.pid,
      login: 'identity_app',
      age: null,
      tables: expect.stringContaining('app.audit_log'),
    })
    await done('end-connections', 'identity_app', '--pid', `${holder.pid}`)
    expect(await done('create-partition', `${lastYear - 1}`)).toEqual({ partition: `app.audit_log_${lastYear - 1}` })
  })
})
