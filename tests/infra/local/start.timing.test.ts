import { expect, it } from 'vitest'
import { seedEmails } from '#infra/local/seed.ts'
import { start, stop } from '#tests/support/stack-process.ts'
import { ask, logIn, ownState, startForTest } from './started-stack.ts'

it('is ready within 10 s on existing data, at best of three starts', async () => {
  const stateDir = await ownState()
  await stop(await start(stateDir))
  const readyMs: number[] = []
  for (let round = 0; round < 3; round += 1) {
    const stack = await start(stateDir)
    readyMs.push(stack.readyMs)
    await stop(stack)
  }
  expect(Math.min(...readyMs)).toBeLessThan(10_000)
})

it('reads a session in less time than a sign-in takes, while three people sign in at once', async () => {
  const env = { LOGIN_EMAIL_LIMIT: '1000', LOGIN_IP_LIMIT: '100000' }
  const { info } = await startForTest(await ownState(), { env })
  const { token } = (await logIn(info, 'owner@acme.test')).body
  const timed = async (call: () => Promise<{ status: number }>) => {
    const startedAt = performance.now()
    expect((await call()).status).toBe(200)
    return performance.now() - startedAt
  }
  // Starts an instance for each concurrent request, so that no cold start is measured.
  await Promise.all(seedEmails.slice(0, 6).map((email) => logIn(info, email)))
  const read = new AbortController()
  const signIns = seedEmails.slice(0, 3).map(async (email) => {
    const times: number[] = []
    while (!read.signal.aborted) times.push(await timed(() => logIn(info, email)))
    return times
  })
  const reads: number[] = []
  for (let round = 0; round < 30; round += 1)
    reads.push(await timed(() => ask(info, 'GET /v1/auth/session', { token })))
  read.abort()
  expect(median(reads)).toBeLessThan(median((await Promise.all(signIns)).flat()))
})

const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? NaN
