import { setTimeout as delay } from 'node:timers/promises'
import * as v from 'valibot'
import type { Faults } from '#infra/local/faults.ts'
import type { PostgresWire } from '#infra/local/postgres/postgres-wire.ts'
import { createClient, expectStatus } from './http-client.ts'

/** The database cost of one request: the maximum of the repeated calls. */
export interface WireCost {
  readonly route: string
  readonly statements: number
  readonly roundTrips: number
  /** How many of the round trips the response waits for. */
  readonly waits: number
}

const CALLS = 5
// A statement's first use costs one more round trip, to prepare it.
const WARM_UPS = 2

const Tenants = v.object({ data: v.array(v.object({ tenant: v.object({ id: v.string() }) })) })

// Far above what any request of these takes without a delay.
const DELAY_MS = 200

/** Counts the statements and round trips of each route in the proxy between the service and its database. */
export async function measureWire(
  serviceUrl: string,
  wire: PostgresWire,
  faults: Faults,
  { tokens, email, password }: { tokens: readonly string[]; email: string; password: string },
): Promise<WireCost[]> {
  const call = createClient(serviceUrl)
  const [token = '', ...disposable] = tokens
  const listed = expectStatus(await call('GET /v1/auth/tenants', { token }), 200, 'tenants')
  const tenantId = v.parse(Tenants, JSON.parse(listed.body)).data[0]?.tenant.id ?? ''

  const routes: readonly { route: string; options: () => { token?: string; body?: object }; status: number }[] = [
    { route: 'GET /v1/auth/session', options: () => ({ token }), status: 200 },
    { route: 'POST /v1/auth/login', options: () => ({ body: { email, password } }), status: 200 },
    { route: 'GET /v1/auth/tenants', options: () => ({ token }), status: 200 },
    { route: `POST /v1/auth/tenants/${tenantId}/select`, options: () => ({ token }), status: 200 },
    { route: 'GET /v1/auth/sessions', options: () => ({ token }), status: 200 },
    { route: 'DELETE /v1/auth/session', options: () => ({ token: disposable.pop() ?? '' }), status: 204 },
    { route: 'GET /v1/catalog/styles', options: () => ({ token }), status: 200 },
  ]

  const costs: WireCost[] = []
  for (const { route, options, status } of routes) {
    const cost = { statements: 0, roundTrips: 0 }
    const times: number[] = []
    for (let at = -WARM_UPS; at < CALLS; at += 1) {
      const before = wire.counts()
      times.push(expectStatus(await call(route, options()), status, route).ms)
      const after = wire.counts()
      if (at < 0) continue
      cost.statements = Math.max(cost.statements, after.statements - before.statements)
      cost.roundTrips = Math.max(cost.roundTrips, after.roundTrips - before.roundTrips)
    }
    const { ms } = await faults.set({ part: 'postgres', mode: 'slow', ms: DELAY_MS })
    const slow: number[] = []
    while (slow.length < 2) {
      // A commit that nobody waited for would delay the next request.
      await delay(2 * DELAY_MS)
      slow.push((await call(route, options())).ms)
    }
    await faults.set({ part: 'postgres', mode: 'ok' })
    const waits = Math.round((Math.min(...slow) - Math.min(...times)) / ms)
    costs.push({ route: route.replace(tenantId, '{id}'), ...cost, waits })
  }
  return costs
}
