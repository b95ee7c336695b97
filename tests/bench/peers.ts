// Compares the service with better-auth and with two floors on one Postgres: `npm run bench:peers`.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import type { CannonRequest } from 'autocannon'
import postgres from 'postgres'
import { startCache } from '#infra/local/cache/cache.ts'
import { urlFor } from '#infra/local/postgres/database.ts'
import { hashToken } from '#shared/secret/secret.ts'
import { loginsOf } from '#tests/support/access.ts'
import { type Cleanup, createCleanup, createUndo } from './cleanup.ts'
import { type Fixture, SERVICE_ENV, SHAPE, startFixture } from './fixture.ts'
import type { FloorOptions } from './floor-process.ts'
import { count } from './options.ts'
import { CASES, CONTENDERS, type ContenderName, type PeerData, type PeerSession } from './peers-cases.ts'
import { judgePeers, type PeerSample, renderPeers } from './peers-report.ts'
import { type BenchProcess, type ServerProcess, startProcess } from './processes.ts'
import { saveMeasurements, writeInReadme } from './kept.ts'
import type { ServiceOptions } from './service-process.ts'
import { rotated } from './statistics.ts'
import { type LoadedServer, type Loader, loadTurn, serverCpuMicros } from './turn.ts'

const USAGE = 'node tests/bench/peers.ts [--runs N] [--rounds N] [--seconds N]'
const USUAL = { runs: 3, rounds: 2, seconds: 1 }
const PEERS = fileURLToPath(new URL('peers/', import.meta.url))
const SECRET = 'a secret of the benchmark, of thirty-two characters and more'
const CONNECTIONS_OF_A_SERVER = 10
// Each connection repeats its own operations, so that a session is not used by two connections at the same time.
const OPERATIONS = { many: 64, one: 400 }
// A new process is at its full speed after some seconds. Many connections come first.
const WARM_UP_SECONDS = { many: 5, one: 0.25 }
const LEAST_BYTES = 10
// Of each connection, in a turn.
const LEAST_OPERATIONS = 2

interface PeerServer extends LoadedServer {
  readonly data: PeerData
}

type PeerServers = Readonly<Record<ContenderName, PeerServer>>

const say = (text: string): void => console.error(`… ${text}`)

/** Installs the compared libraries, if they are not there. */
async function installPeers(): Promise<void> {
  if (existsSync(`${PEERS}node_modules/better-auth`)) return
  say('installing the peers')
  await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: PEERS })
}

/** Gives every user of the benchmark a password, and returns the sessions with what the cases need. */
async function prepareOwn({ databaseUrl, tokens, pepper, hash, password }: Fixture): Promise<PeerData> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  const users = await sql<{ email: string }[]>`
    update app.users set password_hash = ${hash} where full_name like 'Person %' returning email`
  const rows = await sql<(Omit<PeerSession, 'token'> & { key: string })[]>`
    select encode(s.token_key, 'hex') as key, r.code as role,
           (select array_agg(o.tenant_id::text) from app.memberships o where o.user_id = s.user_id) as tenants
      from app.sessions s
      join app.memberships m on m.tenant_id = s.tenant_id and m.user_id = s.user_id
      join app.roles r on r.id = m.role_id`
  await sql`vacuum analyze app.users`
  await sql.end()
  const byKey = new Map(rows.map(({ key, ...session }) => [key, session]))
  const sessions = tokens.flatMap((token) => {
    const found = byKey.get(hashToken(pepper, token).toString('hex'))
    return found === undefined ? [] : [{ ...found, token }]
  })
  return { sessions, emails: users.map(({ email }) => email), password }
}

/** Creates and fills the database of better-auth beside that of the service. */
async function prepareBetterAuth({ databaseUrl, password }: Fixture, cleanup: Cleanup) {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  await sql`create database better_auth`
  const roles = await sql<{ code: string; held: string[] }[]>`
    select r.code, array_agg(p.permission) as held
      from app.roles r join app.role_permissions p on p.role_id = r.id where r.tenant_id is null group by r.code`
  await sql.end()
  const options = {
    databaseUrl: urlFor(databaseUrl, { database: 'better_auth' }),
    secret: SECRET,
    permissions: Object.fromEntries(roles.map(({ code, held }) => [code, held])),
  }
  const filled: BenchProcess<Omit<PeerData, 'password'>, object, object> = await startProcess(
    './peers/fill-better-auth.mjs',
    { ...options, shape: SHAPE, password },
    cleanup,
  )
  return { options, data: { ...filled.greeting, password } }
}

/** Calls better-auth once for each of these sessions, and returns them with the cookies that it sets. */
async function withCookies(url: string, sessions: readonly PeerSession[]): Promise<PeerSession[]> {
  const cached: PeerSession[] = []
  for (const session of sessions) {
    const token = `better-auth.session_token=${session.token}`
    const response = await fetch(`${url}/api/auth/get-session`, { headers: { cookie: token } })
    const set = response.headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0])
    if (!set.some((cookie) => cookie?.startsWith('better-auth.session_data='))) throw new Error('no cookie cache')
    cached.push({
      ...session,
      cookies: [token, ...set.filter((each) => !each?.startsWith('better-auth.session_token='))].join('; '),
    })
  }
  return cached
}

const MANAGERS = new Set(['owner', 'admin'])
const managers = (sessions: readonly PeerSession[]) => sessions.filter(({ role }) => MANAGERS.has(role))

/** Starts the measured servers, each in processes of its own. */
async function startServers(
  fixture: Fixture,
  own: PeerData,
  other: Awaited<ReturnType<typeof prepareBetterAuth>>,
  cleanup: Cleanup,
): Promise<PeerServers> {
  const cache = await startCache()
  cleanup.add(() => cache.close())
  const start = (file: string, options: object): Promise<ServerProcess> => startProcess(file, options, cleanup)
  const served = (data: PeerData, ...processes: readonly [ServerProcess, ...ServerProcess[]]): PeerServer => ({
    url: processes[0].greeting.url,
    processes,
    data,
  })
  const service: ServiceOptions = {
    env: { ...SERVICE_ENV, DATABASE_CONNECTIONS: String(CONNECTIONS_OF_A_SERVER) },
    access: {
      logins: loginsOf(fixture.urls),
      tokenSecrets: { pepper: fixture.pepper, mailKey: fixture.pepper },
      cache: { url: cache.url, token: cache.token },
    },
  }
  const { databaseUrl, pepper } = fixture
  const floor: FloorOptions = { databaseUrl, pepper, connections: CONNECTIONS_OF_A_SERVER }
  const lambda = await start('./authorize-process.ts', service)
  // What the service invokes after a commit, and what the guard asks.
  const aws = { AWS_ENDPOINT_URL_LAMBDA: lambda.greeting.url, AWS_REGION: 'us-east-1' }
  Object.assign(process.env, aws, { AWS_ACCESS_KEY_ID: 'bench', AWS_SECRET_ACCESS_KEY: 'bench' })
  const cached = await start('./peers/better-auth-server.mjs', { ...other.options, cookieCache: true })
  const cookies = await withCookies(cached.greeting.url, managers(other.data.sessions).slice(0, 128))
  return {
    select: served(own, await start('./floor-process.ts', floor)),
    function: served(own, await start('./floor-process.ts', { ...floor, slides: true })),
    'better-auth': served(other.data, await start('./peers/better-auth-server.mjs', other.options)),
    'cookie-cache': served({ ...other.data, sessions: cookies }, cached),
    tenantry: served(own, await start('./service-process.ts', service)),
    moving: served(
      own,
      await start('./service-process.ts', { ...service, env: { ...service.env, SESSION_SLIDE_STEP_SECONDS: '0' } }),
    ),
    guard: served(own, await start('./guarded-process.ts', {}), lambda),
  }
}

/** Returns the sessions that a case may use. Those that select other tenants, and so change their role, are used for nothing else. */
function sessionsFor(as: (typeof CASES)[number]['as'], { sessions }: PeerData): readonly PeerSession[] {
  const movers = Math.floor(sessions.length * 0.75)
  if (as === 'movers') return sessions.slice(movers)
  return as === 'managers' ? managers(sessions.slice(0, movers)) : sessions.slice(0, movers)
}

/** One run: fresh processes, then every case with every server in turns, round by round. */
async function run(
  runNumber: number,
  { rounds, seconds }: typeof USUAL,
  fixture: Fixture,
  prepare: () => Promise<PeerServers>,
  loader: Loader,
): Promise<PeerSample[]> {
  const servers = await prepare()
  const turns = CASES.flatMap((each) =>
    CONTENDERS.flatMap((contender) => {
      const operation = each.ask[contender]
      return operation === undefined ? [] : [{ ...each, contender, operation, server: servers[contender] }]
    }),
  )
  const rates = new Map<string, number>()
  const load = async (turn: (typeof turns)[number], kind: 'many' | 'one', round: number, warmUp: boolean) => {
    const { name, as, contender, operation, server } = turn
    const connections = turn.connections[kind === 'many' ? 0 : 1]
    const sessions = rotated(sessionsFor(as, server.data), round * 997)
    // Nothing is dropped at the end of a measured turn, so that its work is not left to the next one.
    const rate = rates.get(`${name} ${contender} ${kind}`) ?? 0
    const each = Math.max(Math.round((rate * seconds) / connections), LEAST_OPERATIONS)
    const make = (at: number, shift = 0) => {
      const session = sessions[at % sessions.length]
      if (session === undefined) throw new Error('no session')
      return operation(session, at + round + shift, server.data)
    }
    const reads = make(0)[0]?.method === 'GET'
    // No turn writes what the one before wrote: an address that has just been invited is refused, and a tenant that is selected is not selected.
    const size = reads || warmUp ? OPERATIONS[kind] : Math.max(OPERATIONS[kind], each)
    const listsOf = (shift: number) => {
      const operations = Array.from({ length: connections * size }, (_, at) => make(at, shift))
      return Array.from({ length: connections }, (_, at) => operations.slice(at * size, (at + 1) * size).flat())
    }
    const requests = listsOf(0)
    const perOperation = make(0).length
    const amount = each * connections * perOperation
    const until = warmUp ? { seconds: WARM_UP_SECONDS[kind] } : { requests: amount }
    // A server that was idle while others were loaded is slower at first. Sessions also move their expiry now, and not in the turn, which is
    // shorter than the minute between two moves.
    if (!warmUp) {
      const lead = { requests: amount }
      await loadTurn(loader, server, fixture.pid, {
        until: lead,
        requests: reads ? requests : listsOf(1),
        perOperation,
      })
    }
    const result = await loadTurn(loader, server, fixture.pid, { until, requests, perOperation })
    rates.set(`${name} ${contender} ${kind}`, result.perSecond)
    if (warmUp) await settled(server)
    return { ...result, name, contender, connections }
  }

  for (const { name, contender, as, operation, server } of turns) {
    const [session] = sessionsFor(as, server.data)
    for (const request of session === undefined ? [] : operation(session, 0, server.data))
      await expectContent(`${name} of ${contender}`, server.url, request)
  }
  for (const kind of ['many', 'one'] as const) for (const turn of turns) await load(turn, kind, runNumber, true)
  const samples: PeerSample[] = []
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of ['many', 'one'] as const) {
      for (const turn of round % 2 === 0 ? turns : turns.toReversed()) {
        samples.push({ ...(await load(turn, kind, runNumber * rounds + round + 1, false)), run: runNumber, round })
      }
    }
  }
  return samples
}

/** Throws unless the server does what it is asked. better-auth responds to an unknown session with 200 and `null`. */
async function expectContent(what: string, url: string, { path, headers, ...request }: CannonRequest): Promise<void> {
  // better-auth wants an origin of a client that sends the headers of a browser, as `fetch` does.
  const response = await fetch(`${url}${path}`, { ...request, headers: { ...headers, origin: url } })
  const body = await response.text()
  if (!response.ok || body.length < LEAST_BYTES) throw new Error(`${what}: ${response.status} ${body}`)
}

/** Waits until the server has ended the work on requests that the load dropped, and at most some seconds. */
async function settled(server: PeerServer): Promise<void> {
  let before = await serverCpuMicros(server)
  for (let looks = 0; looks < 60; looks += 1) {
    await delay(50)
    const now = await serverCpuMicros(server)
    if (now - before < 10_000) return
    before = now
  }
}

async function main(): Promise<number> {
  let options: typeof USUAL
  try {
    const text = { type: 'string' } as const
    const { values } = parseArgs({ options: { runs: text, rounds: text, seconds: text } })
    options = {
      runs: count('--runs', values.runs, USUAL.runs),
      rounds: count('--rounds', values.rounds, USUAL.rounds),
      seconds: count('--seconds', values.seconds, USUAL.seconds),
    }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`)
    return 2
  }
  process.env['NODE_ENV'] = 'production'
  const cleanup = createCleanup()
  try {
    await installPeers()
    say('starting and filling Postgres')
    const fixture = await startFixture(cleanup)
    const own = await prepareOwn(fixture)
    const other = await prepareBetterAuth(fixture, cleanup)
    const loader: Loader = await startProcess('./load-process.ts', {}, cleanup)
    const samples: PeerSample[] = []
    for (let runNumber = 0; runNumber < options.runs; runNumber += 1) {
      say(`run ${runNumber + 1} of ${options.runs}`)
      const ofRun = createUndo()
      cleanup.add(() => ofRun.run())
      samples.push(...(await run(runNumber, options, fixture, () => startServers(fixture, own, other, ofRun), loader)))
      await ofRun.run()
    }
    const targets = judgePeers(samples)
    const report = await renderPeers(options, samples, targets)
    console.log(report)
    console.log(`\nwritten to ${await saveMeasurements('bench-peers', { options, samples, targets })}`)
    // A shorter run is a trial.
    if (options.runs >= USUAL.runs) await writeInReadme('peers', report)
    return targets.every(({ verdict }) => verdict !== 'MISSED') ? 0 : 1
  } finally {
    await cleanup.run()
  }
}

process.exit(await main())
