import { expect, it, vi } from 'vitest'
import { LOCAL_EXERCISES, runLocally } from '#infra/tools/game-day/local.ts'
import { ownState, startForTest } from '#tests/infra/local/started-stack.ts'

it('each exercise of the game day shows on the local stack what it should', async () => {
  const stateDir = await ownState()
  await startForTest(stateDir)
  const lines: string[] = []
  vi.stubEnv('STATE_DIR', stateDir)
  const good = await runLocally(LOCAL_EXERCISES, (line) => lines.push(line))
  expect(good, lines.join('\n')).toBe(true)
  expect(lines.filter((line) => line.startsWith('## '))).toHaveLength(LOCAL_EXERCISES.length)
})
