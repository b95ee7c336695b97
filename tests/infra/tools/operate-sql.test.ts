import { beforeAll, describe, expect, it } from 'vitest'
import { NAMED_QUERIES, QUERY_NAMES } from '#functions/workers/operate/named-queries.ts'
import { createTenant } from '#tests/support/minted-session.ts'
import { useOperator } from './operator-commands.ts'
import { withInspectedRows } from './inspected-rows.ts'

const { service, cli, command } = useOperator()

/** The statements whose rows belong to tenants. */
const ofTenants = QUERY_NAMES.filter((name) => !('ofNoTenant' in NAMED_QUERIES[name]))

beforeAll(async () => {
  await withInspectedRows(service.database.admin, await createTenant(service.database.admin, 'looked-into'))
  await createTenant(service.database.admin, 'calm')
})

async function rows(...words: string[]): Promise<Record<string, unknown>[]> {
  const { code, stdout, stderr } = await command('sql', ...words, '--json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout).done.rows
}

describe('operate sql', () => {
  it.each(ofTenants)('%s shows the rows of every tenant, and with --tenant those of one', async (name) => {
    expect((await rows(name)).map(({ tenant }) => tenant)).toContain('looked-into')
    const ofOne = await rows(name, '--tenant', 'looked-into')
    expect(new Set(ofOne.map(({ tenant }) => tenant))).toEqual(new Set(['looked-into']))
    expect(await rows(name, '--tenant', 'calm')).toHaveLength(name === 'tenants' ? 1 : 0)
  })

  it.each(['connections', 'partitions', 'settings', 'temporary-files'])('%s shows rows, of no tenant', async (name) => {
    expect((await rows(name)).length).toBeGreaterThan(0)
    expect(await command('sql', name, '--tenant', 'calm')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('belong to no tenant'),
    })
  })

  it('shows a dead-lettered job with its error, and nothing else of it', async () => {
    const found = await rows('dead-letters', '--tenant', 'looked-into')
    expect(found.map((row) => `${String(row['kind'])} ${String(row['last_error'])}`).toSorted()).toEqual([
      'mail MessageRejected',
    ])
    expect(JSON.stringify(found)).not.toContain('somebody@example.test')
  })

  it('shows who waits for a lock, and for whom', async () => {
    const { admin } = service.database
    await admin.begin(async (holder) => {
      const [own] = await holder<{ pid: number }[]>`
        select pg_backend_pid() as pid from pg_advisory_xact_lock(4711)`
      const waiter = admin`select from (select pg_advisory_xact_lock(4711)) as lock`.execute()
      let waiting = await rows('locks')
      while (waiting.length === 0) waiting = await rows('locks')
      expect(waiting).toEqual([
        expect.objectContaining({ lock: 'advisory', waits_for: expect.stringContaining(`${own?.pid}`) }),
      ])
      await holder`select pg_advisory_unlock_all()`
      waiter.catch(() => {})
    })
  })

  it('names its statements in its help, and refuses another', async () => {
    const { code, stdout } = await cli('sql', '--help')
    expect(code).toBe(0)
    for (const name of QUERY_NAMES) expect(stdout).toMatch(new RegExp(` ${name} +\\S`))
    expect(await command('sql', 'passwords')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('must be one of'),
    })
    expect(await command('sql', 'bounces', '--tenant', 'nobody')).toMatchObject({ code: 1 })
  })
})

describe('operate doctor', () => {
  it('names the release, a planted fault, and what its login may not read', async () => {
    const { admin } = service.database
    expect((await command('doctor')).stdout).toMatch(/^release: local$.*UNSEEN {2}migrations\.applied.*Faults: 0\./ms)
    await admin`alter table app.styles no force row level security`
    const { code, stdout } = await command('doctor')
    await admin`alter table app.styles force row level security`
    expect(code).toBe(0)
    expect(stdout).toMatch(/FAULT {3}app\.styles: .*Faults: 1\./s)
  })
})
