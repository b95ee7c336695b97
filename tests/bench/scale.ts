// Compares every read in a database of few tenants and in one of many, and measures `maintain`: `npm run bench:scale`.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import postgres from 'postgres'
import { startCache } from '#infra/local/cache/cache.ts'
import { prepareDatabase } from '#infra/local/postgres/database.ts'
import { startPostgres } from '#infra/local/postgres/postgres.ts'
import { seed } from '#infra/local/seed.ts'
import { parseConfig } from '#shared/base/config.ts'
import { hashToken, newToken } from '#shared/secret/secret.ts'
import { loginsOf } from '#tests/support/access.ts'
import { mintServiceKey, type ServiceKey } from '#tests/support/service-key.ts'
import { type Cleanup, createCleanup, createUndo } from './cleanup.ts'
import { SERVICE_ENV } from './fixture.ts'
import { createClient } from './http-client.ts'
import { saveMeasurements, writeInReadme } from './kept.ts'
import { count } from './options.ts'
import { type ServerProcess, startProcess } from './processes.ts'
import { fillScale, type Scale } from './scale-fill.ts'
import { measureMaintain } from './scale-maintain.ts'
import { judgeScale, type ReadSample, renderScale } from './scale-report.ts'
import { type Reader, readsOf, type ScaleRead, type SkippedRead } from './scale-routes.ts'
import type { ServiceOptions } from './service-process.ts'
import { type LoadedServer, type Loader, loadTurn } from './turn.ts'

const USAGE =
  'node tests/bench/scale.ts [--tenants N] [--users N] [--sessions N] [--audit N] [--deals N] [--backlog N] [--rounds N]'
const USUAL = {
  tenants: 10_000,
  users: 200_000,
  sessions: 1_000_000,
  audit: 2_000_000,
  deals: 100_000,
  backlog: 360_000,
  rounds: 6,
}
const SMALL_TENANTS = 10
const MEMBERS = 100
const MONTHS = 24
// Each connection reads as the owners of tenants of its own.
const CONNECTIONS = 4
const READERS_OF_A_CONNECTION = 2
const TURN_SECONDS = 0.3
const LEAST_REQUESTS = 20
const PLANNED_REQUESTS = 80
const SLIDING_SESSIONS = 20_000
const SLIDE_SECONDS = 4

const say = (text: string): void => console.error(`… ${text}`)

/** Sizes for a server of 24 GB at most: the working set of the large database is in memory. */
const SETTINGS = {
  shared_buffers: '1GB',
  max_wal_size: '8GB',
  maintenance_work_mem: '256MB',
  checkpoint_timeout: '30min',
}

/** A filled database. */
interface Filled {
  readonly name: string
  readonly databaseUrl: string
  readonly urls: Parameters<typeof loginsOf>[0]
  readonly readers: readonly Reader[]
  readonly slidingTokens: readonly string[]
  readonly serviceKey: ServiceKey
}

async function fill(adminUrl: string, name: string, pepper: string, scale: Scale): Promise<Filled> {
  const { databaseUrl, urls } = await prepareDatabase(adminUrl, { name, rolePassword: 'bench-role-password' })
  const connect = () => postgres(databaseUrl, { max: 1, onnotice: () => {} })
  const sql = connect()
  await seed(sql, parseConfig(SERVICE_ENV).argon2)
  await fillScale(connect, scale)
  const count = CONNECTIONS * READERS_OF_A_CONNECTION
  const owners = await sql<{ session: string; tenant: string }[]>`
    select s.id as session, m.tenant_id as tenant
      from generate_series(0, ${count - 1}::int) i
      join app.tenants t on t.slug = 'scale-' || i * ${Math.floor(scale.tenants / count)}::int
      join app.memberships m on m.tenant_id = t.id and m.role_id = 1
      cross join lateral (select id from app.sessions s where s.user_id = m.user_id and s.tenant_id = t.id limit 1) s`
  const readers = owners.map(({ tenant }) => ({ tenantId: tenant, token: newToken() }))
  const sliding = await sql<{ id: string }[]>`
    select id from app.sessions tablesample bernoulli (${Math.min(100, (250 * SLIDING_SESSIONS) / scale.sessions)})
     where id <> all (${owners.map(({ session }) => session)}) limit ${SLIDING_SESSIONS}`
  const slidingTokens = sliding.map(newToken)
  const tokens = [...readers.map(({ token }) => token), ...slidingTokens]
  await sql`
    update app.sessions s set token_key = decode(k.key, 'hex')
      from unnest(${[...owners.map(({ session }) => session), ...sliding.map(({ id }) => id)]}::uuid[],
                  ${tokens.map((token) => hashToken(pepper, token).toString('hex'))}::text[]) as k (id, key)
     where s.id = k.id`
  await sql`vacuum analyze app.sessions`
  const serviceKey = await mintServiceKey(sql, { pepper })
  const [size] = await sql<{ size: string }[]>`select pg_size_pretty(pg_database_size(current_database())) as size`
  say(`${name}: ${scale.tenants} tenants, ${size?.size}`)
  await sql.end()
  return { name, databaseUrl, urls, readers, slidingTokens, serviceKey }
}

/** Starts and fills a cluster without fsync, then starts it again with it. */
async function startCluster(pepper: string, scales: Readonly<Record<string, Scale>>, cleanup: Cleanup) {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-scale-'))
  cleanup.add(() => rm(folder, { recursive: true, force: true }))
  // If root starts it, Postgres runs as nobody, who must be able to enter the folder.
  await chmod(folder, 0o711)
  const options = { dataDir: join(folder, 'data'), preload: ['pg_stat_statements'] }
  const start = async (durable: boolean) => {
    const server = await startPostgres({ ...options, durable })
    cleanup.add(() => server.stop('immediate'))
    return server
  }
  const filling = await start(false)
  const admin = postgres(filling.adminUrl, { max: 1, onnotice: () => {} })
  await admin`create extension pg_stat_statements`
  for (const [name, value] of Object.entries(SETTINGS)) await admin.unsafe(`alter system set ${name} = '${value}'`)
  await admin.end()
  await filling.stop()
  await filling.start()
  const filled: Filled[] = []
  for (const [name, scale] of Object.entries(scales)) filled.push(await fill(filling.adminUrl, name, pepper, scale))
  await filling.stop()
  return { server: await start(true), filled }
}

interface ReadingServer extends LoadedServer {
  readonly database: Filled
  readonly reads: readonly ScaleRead[]
  readonly skipped: readonly SkippedRead[]
}

async function main(): Promise<number> {
  let options: typeof USUAL
  try {
    const text = { type: 'string' } as const
    const { values } = parseArgs({
      options: { tenants: text, users: text, sessions: text, audit: text, deals: text, backlog: text, rounds: text },
    })
    options = { ...USUAL }
    for (const name of Object.keys(USUAL) as (keyof typeof USUAL)[])
      options[name] = count(`--${name}`, values[name], USUAL[name])
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`)
    return 2
  }
  const cleanup = createCleanup()
  try {
    const pepper = `${newToken()}${newToken()}`
    const { tenants, users, sessions, audit, deals } = options
    const events = Math.round(audit / MONTHS)
    const big = { tenants, members: MEMBERS, users, sessions, auditEntries: audit, months: MONTHS, deals, events }
    const part = (rows: number): number => Math.max(1, Math.round((rows * SMALL_TENANTS) / tenants))
    const small: Scale = {
      ...big,
      tenants: SMALL_TENANTS,
      users: Math.max(MEMBERS, part(users)),
      sessions: part(sessions),
      auditEntries: part(audit),
      months: 1,
      deals: part(deals),
      // The list has a second page.
      events: Math.max(200, part(events)),
    }
    say('starting and filling Postgres')
    const { server, filled } = await startCluster(pepper, { small, big }, cleanup)
    const cache = await startCache()
    cleanup.add(() => cache.close())
    const loader: Loader = await startProcess('./load-process.ts', {}, cleanup)
    const postmaster = server.pid()
    const admin = postgres(server.adminUrl, { max: 1, onnotice: () => {} })
    cleanup.add(() => admin.end({ timeout: 1 }))

    const startService = async (
      { urls }: Filled,
      env: Record<string, string>,
      until: Cleanup,
    ): Promise<LoadedServer> => {
      const access = {
        logins: loginsOf(urls),
        tokenSecrets: { pepper, mailKey: pepper },
        cache: { url: cache.url, token: cache.token },
      }
      const options = {
        env: { ...SERVICE_ENV, SESSION_SLIDE_STEP_SECONDS: '0', DATABASE_CONNECTIONS: String(CONNECTIONS), ...env },
        access,
      }
      const started: ServerProcess = await startProcess('./service-process.ts', options satisfies ServiceOptions, until)
      return { url: started.greeting.url, processes: [started] }
    }
    const buffers = async (database: string): Promise<number> => {
      const [row] = await admin<{ read: string }[]>`
        select coalesce(sum(shared_blks_hit + shared_blks_read), 0) as read
          from pg_stat_statements s join pg_database d on d.oid = s.dbid where d.datname = ${database}`
      return Number(row?.read)
    }
    const load = async ({ database, ...server }: ReadingServer, read: ScaleRead, amount: number) => {
      const requests = Array.from({ length: CONNECTIONS }, (_, at) =>
        database.readers
          .map(({ token }, reader) => ({
            method: 'GET',
            path: read.paths[reader] ?? '',
            headers: { authorization: read.authorization ?? `Bearer ${token}` },
          }))
          .filter((_request, reader) => reader % CONNECTIONS === at),
      )
      const before = await buffers(database.name)
      const turn = await loadTurn(loader, server, postmaster, { until: { requests: amount }, requests })
      return { ...turn, buffers: ((await buffers(database.name)) - before) / turn.requests }
    }

    say('reading')
    const servers: ReadingServer[] = []
    for (const database of filled) {
      const service = await startService(database, {}, cleanup)
      const sql = postgres(database.databaseUrl, { max: 1, onnotice: () => {} })
      const found = await readsOf(sql, createClient(service.url), database)
      servers.push({ ...service, database, ...found })
      await sql.end()
    }
    const [first] = servers
    const samples: ReadSample[] = []
    const rates = new Map<string, number>()
    for (let round = -1; round < options.rounds; round += 1) {
      for (const [at, { name }] of first?.reads.entries() ?? []) {
        for (const server of round % 2 === 0 ? servers : servers.toReversed()) {
          const read = server.reads[at]
          if (read?.name !== name) throw new Error(`the databases differ in ${name}`)
          const rate = rates.get(`${name} ${server.database.name}`) ?? 0
          const result = await load(server, read, Math.max(LEAST_REQUESTS, Math.round(rate * TURN_SECONDS)))
          rates.set(`${name} ${server.database.name}`, result.perSecond)
          if (round >= 0) samples.push({ ...result, name, database: server.database.name, round, plan: 'auto' })
        }
      }
    }

    const large = servers.find(({ database }) => database.name === 'big')
    if (large === undefined) throw new Error('no large database')
    for (const plan of ['generic', 'custom'] as const) {
      say(`reading with ${plan} plans`)
      await admin.unsafe(`alter database big set plan_cache_mode = force_${plan}_plan`)
      const ofPlan = createUndo()
      cleanup.add(() => ofPlan.run())
      const service = { ...large, ...(await startService(large.database, {}, ofPlan)) }
      for (const read of large.reads) {
        await load(service, read, LEAST_REQUESTS)
        samples.push({
          ...(await load(service, read, PLANNED_REQUESTS)),
          name: read.name,
          database: 'big',
          round: 0,
          plan,
        })
      }
      await ofPlan.run()
    }
    await admin`alter database big reset plan_cache_mode`

    say('sliding')
    const owner = postgres(large.database.databaseUrl, { max: 1, onnotice: () => {} })
    cleanup.add(() => owner.end({ timeout: 1 }))
    const ofSlides = createUndo()
    cleanup.add(() => ofSlides.run())
    const sliding = await startService(large.database, { SESSION_SLIDE_STEP_SECONDS: '0' }, ofSlides)
    const updates = async () => {
      const [row] = await owner<{ all: string; hot: string }[]>`
        select n_tup_upd as all, n_tup_hot_upd as hot from pg_stat_user_tables where relname = 'sessions'`
      return { all: Number(row?.all), hot: Number(row?.hot) }
    }
    const before = await updates()
    const perConnection = Math.floor(large.database.slidingTokens.length / CONNECTIONS)
    await loader.ask({
      url: sliding.url,
      until: { seconds: SLIDE_SECONDS },
      requests: Array.from({ length: CONNECTIONS }, (_, at) =>
        large.database.slidingTokens.slice(at * perConnection, (at + 1) * perConnection).map((token) => ({
          method: 'GET',
          path: '/v1/auth/session',
          headers: { authorization: `Bearer ${token}` },
        })),
      ),
    })
    // A connection reports its statistics when it ends.
    await ofSlides.run()
    await delay(1000)
    const after = await updates()
    const slides = { updates: after.all - before.all, hot: after.hot - before.hot }

    // For a reader who does not wait for the rest.
    await saveMeasurements('bench-scale', { options, samples, slides })
    say('maintaining')
    const maintained = await measureMaintain({ urls: large.database.urls, owner, admin, backlog: options.backlog })
    const measurements = { samples, skipped: large.skipped, slides, maintained }
    const targets = judgeScale(measurements)
    const report = renderScale(options, measurements, targets)
    console.log(report)
    console.log(`\nwritten to ${await saveMeasurements('bench-scale', { options, ...measurements, targets })}`)
    if (options.tenants >= USUAL.tenants) await writeInReadme('scale', report)
    return targets.every(({ verdict }) => verdict !== 'MISSED') ? 0 : 1
  } finally {
    await cleanup.run()
  }
}

process.exit(await main())
