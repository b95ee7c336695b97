import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import type { StackInfo } from '#infra/local/stack.ts'
import { TEST_SETTINGS } from '#tests/support/settings.ts'
import { launch, READY_TIMEOUT_MS, stop } from '#tests/support/stack-process.ts'
import { processTree } from '#tests/support/process-tree.ts'
import { ask, commandOf, logIn, ownState, startForTest, survivors } from './started-stack.ts'

// Reads processes from /proc.
describe.skipIf(process.platform !== 'linux')('npm start', { timeout: 2 * READY_TIMEOUT_MS }, () => {
  const env = TEST_SETTINGS
  const sessionStatus = async (info: StackInfo, token: string) =>
    (await ask(info, 'GET /v1/auth/session', { token })).status

  it.for(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
    'ends all its processes at %s and loses no data',
    async (signal) => {
      const stateDir = await ownState()
      const first = await startForTest(stateDir, { env })
      const { token } = (await logIn(first.info, 'both@shops.test')).body
      const keys = await readFile(join(stateDir, 'kms-keys.json'), 'utf8')
      const processes = processTree(first.info.pid)
      const commands = processes.flatMap((pid) => commandOf(pid) ?? []).join('\n')
      expect(commands).toContain('postgres')
      if (first.info.cache === 'redis') expect(commands).toMatch(/redis|valkey/)
      expect(await stop(first, signal)).toBe(signal === 'SIGKILL' ? null : 0)
      // After SIGKILL the next start takes over what the first left behind.
      if (signal !== 'SIGKILL') {
        expect(await survivors(processes)).toEqual([])
        await expect(stat(join(stateDir, 'stack.json'))).rejects.toMatchObject({ code: 'ENOENT' })
      }
      const second = await startForTest(stateDir, { env })
      expect(await sessionStatus(second.info, token)).toBe(200)
      expect((await ask(second.info, 'GET /health/ready')).status).toBe(200)
      expect(await readFile(join(stateDir, 'kms-keys.json'), 'utf8')).toBe(keys)
      expect(await survivors(processes)).toEqual([])
    },
  )

  it('leaves no process when it is stopped during the start, and starts the next time', async () => {
    const stateDir = await ownState()
    const first = launch(stateDir, { env })
    const processes = new Set<number>()
    // Postgres runs, the other parts do not yet.
    while (![...processes].some((pid) => commandOf(pid)?.includes('postgres') === true)) {
      for (const pid of processTree(first.child.pid ?? 0)) processes.add(pid)
      await delay(5)
    }
    first.child.kill('SIGINT')
    await first.exited
    expect(await survivors([...processes])).toEqual([])
    const second = await startForTest(stateDir, { env })
    expect((await logIn(second.info, 'both@shops.test')).status).toBe(200)
  })

  it('refuses data of other migrations and deletes it with --fresh', async () => {
    const stateDir = await ownState()
    const first = await startForTest(stateDir, { env })
    const { token } = (await logIn(first.info, 'both@shops.test')).body
    const sql = postgres(first.info.database_url, { max: 1 })
    await sql`update migrations.applied set name = '0001-of-an-older-version.sql' where name like '0001-%'`
    await sql.end()
    await stop(first)
    const refused = launch(stateDir, { env })
    expect(await refused.exited).toBe(1)
    expect(refused.output()).toContain('npm start -- --fresh')
    const fresh = await startForTest(stateDir, { args: ['--fresh'], env })
    expect(await sessionStatus(fresh.info, token)).toBe(401)
    expect((await logIn(fresh.info, 'both@shops.test')).status).toBe(200)
    expect(fresh.info.database_url).not.toBe(first.info.database_url)
  })
})
