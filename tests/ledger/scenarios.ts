import { setTimeout as delay } from 'node:timers/promises'
import type { Fault } from '#infra/local/faults.ts'
import { type Crowd, crowdConnections } from './crowd.ts'
import type { MIXES } from './kinds.ts'
import type { Releases } from './releases.ts'
import type { Server } from './server.ts'

/** What a scenario can do to the stage. */
export interface World {
  readonly server: Server
  readonly releases: Releases
  /** Sets a fault of a part of the stack. */
  readonly fault: (input: Partial<Fault>) => Promise<void>
}

/** A part that fails in one way while one mix of requests runs. */
export interface Scenario {
  readonly name: string
  readonly mix: keyof typeof MIXES
  /** Lets the part fail. Returns how it comes back. */
  readonly begin: (world: World) => Promise<() => Promise<unknown>>
  /** Prepares the next scenario, which this one does not touch. */
  readonly prepare?: (world: World) => void
}

type Mix = Scenario['mix']

const part = (name: string, mix: Mix, input: Partial<Fault>): Scenario => ({
  name,
  mix,
  begin: async ({ fault }) => {
    await fault(input)
    return () => fault({ part: input.part, mode: 'ok' })
  },
})

const stopped = (name: string, mix: Mix, mode: 'fast' | 'immediate'): Scenario => ({
  name,
  mix,
  begin: async ({ server }) => {
    await server.stop(mode)
    return () => server.start()
  },
})

const failover = (name: string, mix: Mix, end: (server: Server) => Promise<unknown>): Scenario => ({
  name,
  mix,
  begin: async ({ server }) => {
    await server.synchronize()
    await end(server)
    return () => server.promote()
  },
})

/** A scenario that harms nobody while the standby of the next one is made. */
const before = (scenario: Scenario): Scenario => ({ ...scenario, prepare: ({ server }) => server.follow() })

const crowd = (name: string, mix: Mix, how: Crowd): Scenario => ({
  name,
  mix,
  begin: ({ server }) => crowdConnections(server, how),
})

const release = (name: string, mix: Mix, during: Scenario['begin'] = async () => async () => {}): Scenario => ({
  name,
  mix,
  begin: async (world) => {
    await world.releases.next()
    const end = await during(world)
    return async () => {
      await end()
      await world.releases.previous()
    }
  },
})

const together = (name: string, mix: Mix, ...inputs: readonly Partial<Fault>[]): Scenario => ({
  name,
  mix,
  begin: async ({ fault }) => {
    for (const input of inputs) await fault(input)
    return async () => {
      for (const { part: each } of inputs) await fault({ part: each, mode: 'ok' })
    }
  },
})

const restartIn: Scenario['begin'] = async ({ server }) => {
  await server.stop('fast')
  return () => server.start()
}

/** Every scenario, in the order of a run. */
export const SCENARIOS: readonly Scenario[] = [
  stopped('Postgres restarts', 'all', 'fast'),
  stopped('Postgres is killed', 'all', 'immediate'),
  {
    name: 'Postgres hangs',
    mix: 'all',
    begin: async ({ server }) => {
      server.signal('SIGSTOP')
      return async () => server.signal('SIGCONT')
    },
  },
  part('cache refuses', 'sign-ins', { part: 'cache', mode: 'refuse' }),
  part('cache hangs', 'sign-ins', { part: 'cache', mode: 'hang' }),
  before(part('SES refuses', 'members', { part: 'ses', mode: 'refuse' })),
  failover('Postgres fails over: primary killed', 'all', (server) => server.stop('immediate')),
  part('EventBridge refuses', 'deals', { part: 'eventbridge', mode: 'refuse' }),
  part('EventBridge throttles', 'members', { part: 'eventbridge', mode: 'throttle' }),
  stopped('Postgres restarts during sign-ins', 'sign-ins', 'fast'),
  stopped('Postgres is killed during deals', 'deals', 'immediate'),
  {
    name: 'Postgres loses a backend to SIGKILL',
    mix: 'members',
    begin: async ({ server }) => {
      await server.killBackend()
      return async () => {}
    },
  },
  stopped('Postgres is killed during second factors', 'second-factors', 'immediate'),
  part('Secrets Manager refuses', 'second-factors', { part: 'secretsmanager', mode: 'refuse' }),
  {
    name: 'Secrets Manager refuses while functions start',
    mix: 'second-factors',
    begin: async ({ fault, releases }) => {
      await fault({ part: 'secretsmanager', mode: 'refuse' })
      // The same release again: each instance is a new one.
      await releases.previous()
      return () => fault({ part: 'secretsmanager', mode: 'ok' })
    },
  },
  part('KMS refuses', 'vendors', { part: 'kms', mode: 'refuse' }),
  part('KMS is slow', 'vendors', { part: 'kms', mode: 'slow', ms: 1500 }),
  crowd('Postgres has no free connection', 'all', 'slots'),
  crowd('Postgres reaches the limit of the database', 'sign-ins', 'limit'),
  part('network to Postgres refuses', 'all', { part: 'postgres', mode: 'refuse' }),
  part('network to Postgres hangs', 'all', { part: 'postgres', mode: 'hang' }),
  part('network to Postgres is slow', 'deals', { part: 'postgres', mode: 'slow', ms: 150 }),
  part('network to Postgres hangs for half of the connections', 'all', { part: 'postgres', mode: 'hang', share: 0.5 }),
  before(part('EventBridge refuses single events', 'all', { part: 'eventbridge', mode: 'partial', share: 0.5 })),
  failover('Postgres fails over: planned', 'members', (server) => server.stop('fast')),
  part('instances are killed', 'all', { part: 'instance', mode: 'kill', share: 0.3, ms: 40 }),
  part('instances are killed during sign-ins', 'sign-ins', { part: 'instance', mode: 'kill', share: 0.3, ms: 40 }),
  part('instances are killed during second factors', 'second-factors', {
    part: 'instance',
    mode: 'kill',
    share: 0.5,
    ms: 20,
  }),
  part('instances are killed during deals', 'deals', { part: 'instance', mode: 'kill', share: 0.3, ms: 40 }),
  part('instances are killed during invitations', 'members', { part: 'instance', mode: 'kill', share: 0.3, ms: 40 }),
  release('a release is deployed and rolled back', 'all'),
  part('vendor refuses', 'vendors', { part: 'vendor', mode: 'refuse' }),
  part('vendor sends garbage', 'vendors', { part: 'vendor', mode: 'garble' }),
  part('vendor is slow', 'vendors', { part: 'vendor', mode: 'slow', ms: 800 }),
  part('cache is slow', 'sign-ins', { part: 'cache', mode: 'slow', ms: 400 }),
  part('cache refuses half of the calls', 'sign-ins', { part: 'cache', mode: 'refuse', share: 0.5 }),
  part('SES hangs', 'members', { part: 'ses', mode: 'hang' }),
  before(part('SES is slow', 'members', { part: 'ses', mode: 'slow', ms: 800 })),
  failover('Postgres fails over: primary hung', 'all', async (server) => server.signal('SIGSTOP')),
  part('EventBridge hangs', 'deals', { part: 'eventbridge', mode: 'hang' }),
  part('EventBridge is slow', 'members', { part: 'eventbridge', mode: 'slow', ms: 800 }),
  {
    name: 'Postgres ends every connection',
    mix: 'all',
    begin: async ({ server }) => {
      await server.look(
        (sql) => sql`
          select pg_terminate_backend(pid) from pg_stat_activity
           where backend_type = 'client backend' and pid <> pg_backend_pid()`,
      )
      return async () => {}
    },
  },
  {
    name: 'Postgres holds a lock on the memberships',
    mix: 'all',
    begin: async ({ server }) => {
      const { promise: over, resolve: end } = Promise.withResolvers<void>()
      const held = server.look((sql) =>
        sql.begin(async (tx) => {
          await tx`lock table app.memberships in access exclusive mode`
          await over
        }),
      )
      await delay(50)
      return async () => {
        end()
        await held
      }
    },
  },
  release('a release is deployed while Postgres restarts', 'deals', restartIn),
  release('a release is deployed while instances are killed', 'members', async ({ fault }) => {
    await fault({ part: 'instance', mode: 'kill', share: 0.2, ms: 40 })
    return () => fault({ part: 'instance', mode: 'ok' })
  }),
  together(
    'cache and EventBridge refuse while instances are killed',
    'all',
    { part: 'cache', mode: 'refuse' },
    { part: 'eventbridge', mode: 'refuse' },
    { part: 'instance', mode: 'kill', share: 0.2, ms: 40 },
  ),
  together(
    'SES and KMS refuse while Postgres is slow',
    'all',
    { part: 'ses', mode: 'refuse' },
    { part: 'kms', mode: 'refuse' },
    { part: 'postgres', mode: 'slow', ms: 100 },
  ),
]
