import { startCache } from '#infra/local/cache/cache.ts'
import { createFaults } from '#infra/local/faults.ts'
import { startPostgresWire } from '#infra/local/postgres/postgres-wire.ts'
import { parseConfig } from '#shared/base/config.ts'
import type { RouteGroup } from '#shared/http/group.ts'
import { lambda } from '#shared/http/lambda.ts'
import { createLimiter } from '#shared/rate-limit/limiter.ts'
import { createRuntime } from '#shared/lambda/runtime.ts'
import { accessOf, loginsOf } from './access.ts'
import type { TestDatabase } from './database.ts'
import type { gatewayEvent } from './event.ts'
import { lambdaContext } from './lambda-context.ts'
import { MAIL_KEY, PEPPER } from './service.ts'

/** The cost of one request: statements and round trips to Postgres, cache calls, calls of Lambda, and jobs that these started. */
export interface Cost {
  readonly statements: number
  readonly roundTrips: number
  readonly cache: number
  readonly invoked: number
  readonly started: number
}

export interface Counted {
  readonly ask: (event: ReturnType<typeof gatewayEvent>) => Promise<{ status: number; body: any; cost: Cost }>
  readonly close: () => Promise<void>
}

/**
 * Starts a route group without the gateway, as a Lambda with one connection, and counts the cost of each request. The
 * first use of a statement prepares it, which takes one more round trip.
 */
export async function startCounted(
  database: TestDatabase,
  group: RouteGroup,
  env: Readonly<Record<string, string>> = {},
): Promise<Counted> {
  const { hostname, port } = new URL(database.appUrl)
  const wire = await startPostgresWire({ host: hostname, port: Number(port) })
  const faults = createFaults()
  const cache = await startCache({ force: 'in-process', faults })
  const config = parseConfig({ DATABASE_TLS: 'disable', DATABASE_CONNECTIONS: '1', ...env })
  const access = {
    logins: loginsOf(database.urls, wire.port),
    tokenSecrets: { pepper: PEPPER, mailKey: MAIL_KEY },
    cache: { url: cache.url, token: cache.token },
  }
  let invoked = 0
  let started = 0
  const fail = (error: unknown) => {
    throw error
  }
  const runtime = createRuntime(group.needs, config, accessOf(access, group.needs), {
    // The limiter stops calling a cache that responds late. On a busy machine that would change the number of calls.
    openLimiter: (url, db) => createLimiter({ ...url, database: db, budgetMs: 30_000, degraded: fail }),
    invoke: async (_job, mode) => {
      invoked += 1
      if (mode === undefined) started += 1
    },
  })
  const handle = lambda(group, { config, open: async () => runtime })
  const counts = (): Cost => ({ ...wire.counts(), cache: faults.counts().cache, invoked, started })
  return {
    ask: async (event) => {
      // Nobody waits for the end of a read: it is no cost of this request, nor of the next.
      await runtime.database.call.repeatable`select 1`
      const before = counts()
      const { statusCode, body } = await handle(event, lambdaContext)
      const after = counts()
      const cost = {
        statements: after.statements - before.statements,
        roundTrips: after.roundTrips - before.roundTrips,
        cache: after.cache - before.cache,
        invoked: after.invoked - before.invoked,
        started: after.started - before.started,
      }
      return { status: statusCode, body: body === '' ? null : JSON.parse(body), cost }
    },
    close: async () => {
      await runtime.database.close()
      await cache.close()
      await wire.close()
    },
  }
}
