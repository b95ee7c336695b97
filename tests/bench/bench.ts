import { startCache } from '#infra/local/cache/cache.ts'
import { parseConfig } from '#shared/base/config.ts'
import { loginsOf } from '#tests/support/access.ts'
import { createFaults } from '#infra/local/faults.ts'
import { startPostgresWire } from '#infra/local/postgres/postgres-wire.ts'
import { type Cleanup, createCleanup } from './cleanup.ts'
import { type Fixture, SERVICE_ENV, startFixture } from './fixture.ts'
import type { FloorOptions } from './floor-process.ts'
import type { LoadJob, LoadResult } from './load-process.ts'
import { measureLogin } from './login.ts'
import { type BenchOptions, parseOptions, USAGE } from './options.ts'
import { type BenchProcess, type ServerProcess, startProcess } from './processes.ts'
import { judge, type Measurements, render, save } from './report.ts'
import type { ServiceOptions } from './service-process.ts'
import { type Contender, measureThroughput } from './throughput.ts'
import type { Verified, VerifyOptions } from './verify-process.ts'
import { measureWire } from './wire.ts'

const FLOOR_CONNECTIONS = 10
const SERVICE_CONNECTIONS = 10

/** Starts the measured servers on the fixture, each in its own process. */
async function startServers(fixture: Fixture, cleanup: Cleanup) {
  const cache = await startCache()
  cleanup.add(() => cache.close())
  const start = async (name: string, file: string, options: object): Promise<Contender> => {
    const server: ServerProcess = await startProcess(file, options, cleanup)
    return { name, server }
  }
  const service = (name: string, file: string, connections: number, port = fixture.port) =>
    start(name, file, {
      env: { ...SERVICE_ENV, DATABASE_CONNECTIONS: String(connections) },
      access: {
        logins: loginsOf(fixture.urls, port),
        tokenSecrets: { pepper: fixture.pepper, mailKey: fixture.pepper },
        cache: { url: cache.url, token: cache.token },
      },
    } satisfies ServiceOptions)

  const faults = createFaults()
  const wire = await startPostgresWire({ host: '127.0.0.1', port: fixture.port, faults })
  cleanup.add(() => wire.close())
  return {
    floor: await start('floor', './floor-process.ts', {
      databaseUrl: fixture.databaseUrl,
      pepper: fixture.pepper,
      connections: FLOOR_CONNECTIONS,
    } satisfies FloorOptions),
    service: await service('service', './service-process.ts', SERVICE_CONNECTIONS),
    instances: await service('service-instances', './instances-process.ts', 1),
    // With one connection, every request uses the warm one.
    counted: await service('counted', './service-process.ts', 1, wire.port),
    wire,
    faults,
  }
}

async function measure(options: BenchOptions, cleanup: Cleanup): Promise<Measurements> {
  say('starting and filling Postgres')
  const fixture = await startFixture(cleanup)
  const { password, hash, emails, tokens, spareTokens } = fixture
  say('starting the servers')
  const { floor, service, instances, counted, wire, faults } = await startServers(fixture, cleanup)
  const loader: BenchProcess<object, LoadJob, LoadResult> = await startProcess('./load-process.ts', {}, cleanup)
  const verifying = { password, hash, cost: parseConfig(SERVICE_ENV).argon2 } satisfies VerifyOptions
  const verifier: BenchProcess<object, object, Verified> = await startProcess('./verify-process.ts', verifying, cleanup)

  say('counting statements and round trips')
  const counts = await measureWire(counted.server.greeting.url, wire, faults, {
    tokens: spareTokens,
    email: emails[0] ?? '',
    password,
  })
  say('loading the session check')
  const throughput = await measureThroughput([floor, service, instances], loader, tokens, options)
  say('timing sign-ins')
  const login = await measureLogin(service.server, verifier, { emails, password, pairs: options.pairs })
  return { throughput, login, wire: counts }
}

const say = (text: string): void => console.error(`… ${text}`)

async function main(): Promise<number> {
  let options: BenchOptions
  try {
    options = parseOptions(process.argv.slice(2))
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`)
    return 2
  }
  const cleanup = createCleanup()
  try {
    const measurements = await measure(options, cleanup)
    const targets = judge(measurements)
    console.log(render(measurements, targets))
    console.log(`\nwritten to ${await save(options, measurements, targets)}`)
    return targets.some(({ verdict }) => verdict === 'MISSED') ? 1 : 0
  } finally {
    await cleanup.run()
  }
}

process.exit(await main())
