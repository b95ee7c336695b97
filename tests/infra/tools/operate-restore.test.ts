import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyRestore } from '#functions/workers/operate/verify-restore.ts'
import { loginOf, MIGRATIONS } from '#infra/local/postgres/database.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'
import { createTenant, createUser } from '#tests/support/minted-session.ts'
import { INSTRUCTION } from '#tests/support/operator.ts'
import { useOperator } from './operator-commands.ts'

const { service, command } = useOperator()
let copy: TestDatabase

beforeAll(async () => {
  copy = await createTestDatabase()
})
afterAll(() => copy.drop())

const verify = async (...words: string[]) => {
  const { code, stdout, stderr } = await command('verify-restore', ...words, '--json')
  return { code, text: stderr, done: code === 0 ? JSON.parse(stdout).done : null }
}

describe('operate verify-restore', () => {
  it('examines the restored database, and shows what it lacks beside the current one', async () => {
    const { admin } = service.database
    // With an owner.
    await createTenant(admin, 'after-the-copy')
    await createUser(admin, { email: 'late@shop.test', slugs: ['after-the-copy'] })
    const { done } = await verify('127.0.0.1', '--database', copy.name)
    expect(done.report.at(-1)).toMatch(/^Faults: 0\./)
    const differences = new Map(done.rows.map((row: any) => [row.table, row.difference]))
    expect(['tenants', 'users', 'memberships'].map((table) => differences.get(table))).toEqual([-1, -2, -2])
  })

  it('names the fault of a restored database that is not protected', async () => {
    await copy.admin`alter table app.deals no force row level security`
    const { done } = await verify('127.0.0.1', '--database', copy.name)
    expect(done.report.join('\n')).toMatch(/FAULT .*app\.deals/)
    await copy.admin`alter table app.deals force row level security`
  })

  it.each([
    [
      'a host elsewhere',
      'restored.example.com',
      'tenantry-1.cluster-abc.us-east-1.rds.amazonaws.com',
      /only its first part/,
    ],
    [
      'a cluster of another account',
      'restored.cluster-xyz.us-east-1.rds.amazonaws.com',
      'now.cluster-abc.us-east-1.rds.amazonaws.com',
      /only its first part/,
    ],
    [
      'the current database',
      'now.cluster-abc.us-east-1.rds.amazonaws.com',
      'now.cluster-abc.us-east-1.rds.amazonaws.com',
      /current database/,
    ],
  ])('sends no login to %s', async (_what, host, current, refusal) => {
    const login = async () => ({ ...loginOf(service.database.operatorUrl), host: current })
    const examined = { login, security: { tls: 'disable', caFile: '' } as const, folder: MIGRATIONS }
    const outcome = await verifyRestore(examined, { command: 'verify-restore', host }, INSTRUCTION)
    expect(outcome).toEqual({ refused: expect.stringMatching(refusal) })
  })

  it('uses the previous password when the copy is older than the last rotation', async () => {
    const now = loginOf(service.database.operatorUrl)
    const versions: string[] = []
    // The current database is not reached before the copy accepts a password.
    const login = async (version: string) => {
      versions.push(version)
      return version === 'AWSCURRENT' && versions.length === 1 ? { ...now, password: 'rotated since' } : now
    }
    const examined = { login, security: { tls: 'disable', caFile: '' } as const, folder: MIGRATIONS }
    await verifyRestore(
      examined,
      { command: 'verify-restore', host: now.host, database: copy.name },
      INSTRUCTION,
    ).catch(() => {})
    expect(versions).toEqual(['AWSCURRENT', 'AWSPREVIOUS'])
  })
})
