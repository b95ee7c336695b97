import { expect, it } from 'vitest'
import { seedEmails } from '#infra/local/seed.ts'
import { ask, logIn, ownState, start, startForTest, stop } from './started-stack.ts'

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

it('reads sessions while twenty people sign in', async () => {
  const env = { LOGIN_EMAIL_LIMIT: '1000', LOGIN_IP_LIMIT: '100000' }
  const { info } = await startForTest(await ownState(), { env })
  const { token } = (await logIn(info, 'owner@acme.test')).body
  // Starts the instances first, so that no cold start is measured.
  for (let first = 0; first < seedEmails.length; first += 4) {
    await Promise.all(seedEmails.slice(first, first + 4).map((email) => logIn(info, email)))
  }
  const startedAt = performance.now()
  const signedIn = new AbortController()
  const people = Array.from({ length: 20 }, (_, index) => seedEmails[index % seedEmails.length] ?? '')
  const logins = Promise.all(people.map((email) => logIn(info, email))).finally(() => signedIn.abort())
  const times: number[] = []
  while (!signedIn.signal.aborted) {
    const askedAt = performance.now()
    expect((await ask(info, 'GET /v1/auth/session', { token })).status).toBe(200)
    times.push(performance.now() - askedAt)
  }
  const tookMs = performance.now() - startedAt
  expect(new Set((await logins).map(({ status }) => status))).toEqual(new Set([200]))
  expect(times.length).toBeGreaterThan(5)
  expect(times.toSorted((a, b) => a - b)[times.length >> 1]).toBeLessThan(tookMs / 8)
})
