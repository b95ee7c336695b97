import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ServerProcess } from '#tests/support/server-process.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { expectUnavailable, startOnOwnCluster } from './own-cluster.ts'

// The longest that a client waits without a database, and the longest time until the service has recovered.
const ANSWER_MS = 3000
const RECOVERY_MS = 2000

let own: Awaited<ReturnType<typeof startOnOwnCluster>>
let token: string
let proxiedToken: string
beforeAll(async () => {
  own = await startOnOwnCluster()
  token = await own.server.signIn('sales@acme.test')
  proxiedToken = await own.proxied.signIn('sales@bolt.test')
})
afterAll(() => own.close())

const authRoutes = (of: ServerProcess, by: string) => [
  () => of.request('GET /v1/auth/session', { token: by }),
  () => of.request('GET /v1/auth/tenants', { token: by }),
  () => of.request('DELETE /v1/auth/session', { token: by }),
  () => of.logIn('viewer@acme.test', PASSWORD),
  () => of.request('GET /v1/catalog/styles', { token: by }),
  () => of.request('POST /v1/test/designs', { token: by, body: { op: randomUUID(), brand: randomUUID() } }),
]

async function expectDown(of: ServerProcess, by: string): Promise<void> {
  const answers = await Promise.all(authRoutes(of, by).map((ask) => ask()))
  for (const answer of answers) {
    expectUnavailable(answer)
    expect(answer.afterMs).toBeLessThan(ANSWER_MS)
  }
  const [live, ready] = await Promise.all([of.request('GET /health/live'), of.request('GET /health/ready')])
  expect([live.status, live.body]).toEqual([200, { status: 'ok' }])
  expectUnavailable(ready)
  expect(ready.body).toMatchObject({ database: 'failed', cache: 'ok' })
  expect(ready.afterMs).toBeLessThan(1500)
}

async function expectBack(of: ServerProcess, by: string): Promise<void> {
  const since = performance.now()
  for (;;) {
    const [session, ready] = await Promise.all([
      of.request('GET /v1/auth/session', { token: by }),
      of.request('GET /health/ready'),
    ])
    if (session.status === 200 && ready.status === 200) break
    expectUnavailable(session.status === 200 ? ready : session)
    expect(performance.now() - since).toBeLessThan(RECOVERY_MS)
    await delay(20)
  }
  expect((await of.logIn('viewer@acme.test')).status).toBe(200)
  expect(of.death()).toBeNull()
}

describe('Postgres unavailable', () => {
  it('returns 503 within 3 s while Postgres is stopped, and recovers within 2 s', async () => {
    await own.cluster.stop('fast')
    try {
      await expectDown(own.server, token)
    } finally {
      await own.cluster.start()
    }
    await expectBack(own.server, token)
  })

  it('returns 503 within 3 s while Postgres does not respond, and recovers within 2 s', async () => {
    await expectBack(own.proxied, proxiedToken)
    await own.faults.set({ part: 'postgres', mode: 'hang' })
    try {
      await expectDown(own.proxied, proxiedToken)
    } finally {
      await own.faults.set({ part: 'postgres', mode: 'ok' })
    }
    await expectBack(own.proxied, proxiedToken)
  })

  it('returns 503 within 3 s while Postgres refuses connections, and recovers within 2 s', async () => {
    await own.faults.set({ part: 'postgres', mode: 'refuse' })
    try {
      await expectDown(own.proxied, proxiedToken)
    } finally {
      await own.faults.set({ part: 'postgres', mode: 'ok' })
    }
    await expectBack(own.proxied, proxiedToken)
  })
})
