import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { DecryptCommand, EncryptCommand, KMSClient } from '@aws-sdk/client-kms'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createFaults } from '#infra/local/faults.ts'
import { startGateway } from '#infra/local/gateway/gateway.ts'
import { startInstances } from '#infra/local/gateway/instances.ts'
import { startKms } from '#infra/local/aws/kms.ts'
import { seedEmails, seedMemberships } from '#infra/local/seed.ts'
import type { StackInfo } from '#infra/local/stack.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { routeGroup } from '#shared/http/group.ts'
import { noContent } from '#shared/http/reply.ts'
import { seen } from '#tests/support/documented.ts'
import { PASSWORD } from '#tests/support/service.ts'

const START = fileURLToPath(new URL('../../../infra/local/start.ts', import.meta.url))
const READY_MS = 60_000
const ANSWER_MS = 3000

interface Started {
  readonly child: ChildProcess
  readonly info: StackInfo
  readonly afterMs: number
}

async function stateFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-test-'))
  // Whom Postgres runs as must be able to pass.
  await chmod(folder, 0o755)
  return folder
}

/** A state of its own for one test; what was started on it and still runs at the end is killed. */
async function ownState(): Promise<string> {
  const folder = await stateFolder()
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  return join(folder, 'state')
}

function launch(stateDir: string, { args = [], env = {} }: { args?: string[]; env?: Record<string, string> } = {}) {
  const child = spawn(process.execPath, [START, ...args], {
    env: { PATH: process.env['PATH'], STATE_DIR: stateDir, PORT: '0', WEB_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString()
    })
  }
  return { child, said: () => said, ended: once(child, 'exit').then(([code]: unknown[]) => code) }
}

async function start(stateDir: string, options: Parameters<typeof launch>[1] = {}): Promise<Started> {
  const asked = performance.now()
  const { child, said } = launch(stateDir, options)
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`The start ended:\n${said()}`)
    if (performance.now() - asked > READY_MS) throw new Error(`Not ready in time:\n${said()}`)
    // Announced once the file is written; a file from before names another process.
    if (said().includes('is ready')) break
    await delay(20)
  }
  const info: StackInfo = JSON.parse(await readFile(join(stateDir, 'stack.json'), 'utf8'))
  expect(info.pid).toBe(child.pid)
  return { child, info, afterMs: performance.now() - asked }
}

async function stop({ child }: Pick<Started, 'child'>, signal: NodeJS.Signals = 'SIGINT'): Promise<unknown> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const ended = once(child, 'exit')
  child.kill(signal)
  const [code] = await ended
  return code
}

const ended = async (started: Started, signal?: NodeJS.Signals): Promise<void> => {
  await stop(started, signal)
}

async function ask(
  info: StackInfo,
  route: string,
  { token, body, headers = {} }: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
) {
  const [method = 'GET', path = '/'] = route.split(' ')
  const asked = performance.now()
  const response = await fetch(info.gateway_url + path, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const afterMs = performance.now() - asked
  seen(method, path, { status: response.status, headers: response.headers, text })
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text), afterMs }
}

const logIn = (info: StackInfo, email: string) =>
  ask(info, 'POST /v1/auth/login', { body: { email, password: PASSWORD } })

/** A process and all that it started, and those in turn: the numbers of every one that lives. */
function family(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
      const parent = Number(fields[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(name)])
    } catch {
      // It ended while it was looked at.
    }
  }
  const members = [pid]
  for (const member of members) members.push(...(children.get(member) ?? []))
  return members
}

const programOf = (pid: number): string | null => {
  try {
    const [, state] = /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    return state === 'Z' ? null : readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return null
  }
}

/** Waits until none of these processes is left; what is left after ten seconds. */
async function leftOf(pids: readonly number[]): Promise<string[]> {
  for (let waited = 0; ; waited += 50) {
    const left = pids.flatMap((pid) => programOf(pid) ?? [])
    if (left.length === 0 || waited > 10_000) return left
    await delay(50)
  }
}

describe('a started stack', () => {
  let folder: string
  let stateDir: string
  let stack: Started
  let info: StackInfo

  beforeAll(async () => {
    folder = await stateFolder()
    stateDir = join(folder, 'state')
    stack = await start(stateDir, { env: { LOGIN_EMAIL_LIMIT: '1000', LOGIN_IP_LIMIT: '100000' } })
    info = stack.info
  }, READY_MS + 5000)
  afterAll(async () => {
    await stop(stack)
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  })

  const setFault = async (fault: object) => {
    const response = await fetch(`${info.control_url}/faults`, { method: 'POST', body: JSON.stringify(fault) })
    expect(response.status).toBe(200)
  }

  it('says where everything is, in exactly the documented words, to its owner alone', async () => {
    expect(stack.afterMs).toBeLessThan(READY_MS)
    const url = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(info).toStrictEqual({
      gateway_url: url,
      web_url: url,
      mailbox_url: url,
      database_url: expect.stringMatching(/^postgres:\/\/postgres:[^@]+@127\.0\.0\.1:\d+\/\w+$/),
      app_database_url: expect.stringMatching(/^postgres:\/\/identity_app:[^@]+@127\.0\.0\.1:\d+\/\w+$/),
      control_url: url,
      lambda_url: url,
      cache: expect.stringMatching(/^(redis|in-process)$/),
      vendors: expect.any(Array),
      pid: stack.child.pid,
    })
    expect(info.vendors.length).toBeGreaterThanOrEqual(2)
    for (const vendor of info.vendors) {
      expect(vendor).toStrictEqual({
        code: expect.any(String),
        account_number: expect.any(String),
        secret: expect.any(String),
      })
    }
    expect((await stat(join(stateDir, 'stack.json'))).mode & 0o777).toBe(0o600)
    expect((await fetch(`${info.web_url}/healthz`)).status).toBe(200)
    expect(await (await fetch(`${info.mailbox_url}/messages?to=nobody@shops.test`)).json()).toEqual({ data: [] })
    expect((await ask(info, 'GET /health/ready')).body).toEqual({ status: 'ok', database: 'ok', cache: 'ok' })
  })

  it('logs no secret and no personal value, and each refusal in one line', async () => {
    const password = 'planted-Password/with+signs "and" quotes'
    const email = 'planted.person+tag@planted.example'
    const forwarded = '203.0.113.77'
    // Another loopback address, so that the client's is told from the server's.
    const address = '127.9.8.7'
    const fake = Buffer.from('a planted token of 32 bytes, yes').toString('base64url')
    const headers = { 'x-forwarded-for': forwarded, 'user-agent': 'planted agent' }
    const { body: own } = await logIn(info, 'sales@acme.test')
    const token: string = own.token
    await ask(info, `POST /v1/auth/tenants/${(await tenantsOf(token))[0]}/select`, { token })

    const refused: { id: string; route: string; status: number }[] = []
    const refuse = async (route: string, status: number, options: Parameters<typeof ask>[2] = {}) => {
      const answer = await ask(info, route, { ...options, headers: { ...headers, ...options.headers } })
      expect([route, answer.status]).toEqual([route, status])
      refused.push({ id: answer.headers.get('x-request-id') ?? '', route: route.replace(/\?.*/, ''), status })
    }
    await refuse('POST /v1/auth/login', 401, { body: { email, password } })
    await refuse('POST /v1/auth/login', 401, { body: { email: 'sales@acme.test', password } })
    await refuse('POST /v1/auth/login', 422, { body: { email: `${email} ${password}`, password: [password] } })
    await refuse('POST /v1/auth/login', 400, {
      body: `{"email":"${email}","password":"${fake}`,
      headers: { 'content-type': 'application/json' },
    })
    await refuse('POST /v1/auth/login', 415, { body: `${email} ${token}`, headers: { 'content-type': 'text/plain' } })
    await refuse('GET /v1/auth/session', 401, { token: fake })
    await refuse('GET /v1/auth/session', 401, { token: `${fake}x` })
    await refuse('GET /v1/auth/session', 401, { headers: { authorization: `Basic ${fake}` } })
    await refuse('POST /v1/auth/password/change', 422, {
      token,
      body: { current_password: password, new_password: `${password} anew` },
    })
    const query = `?limit=0&q=${encodeURIComponent(`${email} ${password}`)}`
    await refuse(`GET /v1/catalog/styles${query}`, 422, { token })
    await ask(info, `GET /v1/auth/session?access_token=${token}`, { headers })
    const fromElsewhere = await new Promise<{ status: number; id: string }>((resolve, reject) => {
      const outgoing = httpRequest(
        `${info.gateway_url}/v1/auth/session`,
        { localAddress: address, headers: { ...headers, authorization: `Bearer ${fake}` } },
        (incoming) => {
          incoming.resume()
          incoming.on('end', () =>
            resolve({ status: incoming.statusCode ?? 0, id: String(incoming.headers['x-request-id']) }),
          )
        },
      )
      outgoing.on('error', reject)
      outgoing.end()
    })
    expect(fromElsewhere.status).toBe(401)
    refused.push({ id: fromElsewhere.id, route: 'GET /v1/auth/session', status: 401 })
    expect((await ask(info, 'DELETE /v1/auth/session', { token, headers })).status).toBe(204)

    const read = () => readFile(join(stateDir, 'functions.log'), 'utf8')
    const last = refused.at(-1)?.id ?? ''
    while (!(await read()).includes(last)) await delay(20)
    await delay(100)
    const text = await read()
    for (const { id, route, status } of refused) {
      const lines = text.split('\n').filter((line) => line.includes(id))
      expect(lines).toHaveLength(1)
      expect(JSON.parse(lines[0] ?? '')).toMatchObject({ request_id: id, route, status, level: 'INFO' })
    }
    for (const value of [
      password,
      email,
      forwarded,
      address,
      fake,
      token,
      own.csrf_token,
      'sales@acme.test',
      PASSWORD,
    ]) {
      for (const [encoding, written] of encodingsOf(value)) {
        expect(text.includes(written), `${value} in ${encoding}`).toBe(false)
      }
    }
  })

  const tenantsOf = async (token: string): Promise<string[]> =>
    (await ask(info, 'GET /v1/auth/tenants', { token })).body.data.map(
      ({ tenant }: { tenant: { id: string } }) => tenant.id,
    )

  it('has the seeded accounts, each where it belongs, and takes each of them down the whole path', async () => {
    const roles = new Set<string>()
    for (const email of seedEmails) {
      const login = await logIn(info, email)
      expect([email, login.status]).toEqual([email, 200])
      const { token } = login.body
      const choices = await ask(info, 'GET /v1/auth/tenants', { token })
      const expected = seedMemberships.filter((membership) => membership.email === email)
      expect(choices.body.data.map(({ tenant, role }: any) => `${tenant.slug} ${role.code}`).toSorted()).toEqual(
        expected.map(({ slug, role }) => `${slug} ${role}`).toSorted(),
      )
      for (const { tenant, role } of choices.body.data) {
        expect((await ask(info, `POST /v1/auth/tenants/${tenant.id}/select`, { token })).status).toBe(200)
        const session = await ask(info, 'GET /v1/auth/session', { token })
        expect([session.body.tenant.slug, session.body.role.code]).toEqual([tenant.slug, role.code])
        const styles = await ask(info, 'GET /v1/catalog/styles?q=2000', { token })
        expect(styles.body.data[0]).toMatchObject({ style_number: '2000', brand: 'Gildan' })
        roles.add(role.code)
      }
      expect((await ask(info, 'DELETE /v1/auth/session', { token })).status).toBe(204)
      expect((await ask(info, 'GET /v1/auth/session', { token })).status).toBe(401)
    }
    expect(roles.size).toBe(7)
  })

  it('is not started twice on the same state, and says so', async () => {
    const second = launch(stateDir)
    expect(await second.ended).toBe(1)
    expect(second.said()).toContain(`Already running on ${stateDir}`)
    expect(second.said()).toContain(info.gateway_url)
    expect((await ask(info, 'GET /health/ready')).status).toBe(200)
  })

  it('shows a fault of its database at the API, and its end', async () => {
    const { token } = (await logIn(info, 'owner@acme.test')).body
    for (const mode of ['refuse', 'hang']) {
      await setFault({ part: 'postgres', mode })
      const session = await ask(info, 'GET /v1/auth/session', { token })
      expect([mode, session.status]).toEqual([mode, 503])
      expect(session.headers.get('retry-after')).not.toBeNull()
      expect(session.afterMs).toBeLessThan(ANSWER_MS)
      expect((await ask(info, 'GET /health/ready')).body).toMatchObject({ status: 503, database: 'failed' })
      expect((await ask(info, 'GET /health/live')).status).toBe(200)
      await setFault({ part: 'postgres', mode: 'ok' })
      const since = performance.now()
      while ((await ask(info, 'GET /v1/auth/session', { token })).status !== 200) {
        expect(performance.now() - since).toBeLessThan(2000)
      }
      expect((await ask(info, 'GET /health/ready')).status).toBe(200)
    }
  })

  it('shows a fault of its cache in its readiness alone, and its end', async () => {
    for (const mode of ['refuse', 'hang']) {
      await setFault({ part: 'cache', mode })
      expect((await ask(info, 'GET /health/ready')).body).toMatchObject({
        status: 503,
        cache: 'failed',
        database: 'ok',
      })
      expect((await logIn(info, 'owner@acme.test')).status).toBe(200)
      await setFault({ part: 'cache', mode: 'ok' })
      expect((await ask(info, 'GET /health/ready')).status).toBe(200)
    }
  })

  it('counts the calls of its parts', async () => {
    const counts = async () => (await fetch(`${info.control_url}/calls`)).json()
    const { token } = (await logIn(info, 'owner@acme.test')).body
    const before: any = await counts()
    expect(Object.keys(before).toSorted()).toEqual(['cache', 'kms', 'postgres', 'ses', 'vendor'])
    await ask(info, 'GET /v1/auth/session', { token })
    const read: any = await counts()
    expect([read.postgres - before.postgres, read.cache - before.cache]).toEqual([1, 0])
    await ask(info, 'GET /health/ready')
    const ready: any = await counts()
    expect([ready.postgres - read.postgres, ready.cache - read.cache]).toEqual([1, 1])
  })

  it('reads sessions while twenty people sign in', async () => {
    const { token } = (await logIn(info, 'owner@acme.test')).body
    // Once before, so that what is measured is no first start of an instance.
    for (let first = 0; first < seedEmails.length; first += 4) {
      await Promise.all(seedEmails.slice(first, first + 4).map((email) => logIn(info, email)))
    }
    const asked = performance.now()
    const signedIn = new AbortController()
    const people = Array.from({ length: 20 }, (_, index) => seedEmails[index % seedEmails.length] ?? '')
    const logins = Promise.all(people.map((email) => logIn(info, email))).then((answers) => {
      signedIn.abort()
      return answers
    })
    const times: number[] = []
    while (!signedIn.signal.aborted) {
      const { status, afterMs } = await ask(info, 'GET /v1/auth/session', { token })
      expect(status).toBe(200)
      times.push(afterMs)
    }
    const took = performance.now() - asked
    expect(new Set((await logins).map(({ status }) => status))).toEqual(new Set([200]))
    const median = times.toSorted((a, b) => a - b)[times.length >> 1] ?? Infinity
    expect(times.length).toBeGreaterThan(5)
    expect(median).toBeLessThan(took / 8)
  })
})

/** A value as a careless log might hold it. */
function* encodingsOf(value: string): Generator<[string, string]> {
  const bytes = Buffer.from(value)
  yield ['UTF-8', value]
  yield ['JSON', JSON.stringify(value).slice(1, -1)]
  yield ['hex', bytes.toString('hex')]
  yield ['upper hex', bytes.toString('hex').toUpperCase()]
  yield ['URL encoding', encodeURIComponent(value)]
  for (const shift of [0, 1, 2]) {
    // In the middle of other bytes base64 looks different; the ends depend on the neighbours.
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes])
    const start = shift === 0 ? 0 : 4
    const end = -4
    yield [`base64 from ${shift}`, shifted.toString('base64').slice(start, end)]
    yield [`base64url from ${shift}`, shifted.toString('base64url').slice(start, end)]
  }
}

// Processes are looked up in /proc.
describe.skipIf(process.platform !== 'linux')('the life of a stack', () => {
  const cheap = { ARGON2_MEMORY_KIB: '64', ARGON2_ITERATIONS: '1' }

  const sealed = async (stateDir: string, work: (client: KMSClient, keyId: string) => Promise<void>) => {
    const kms = await startKms({ stateDir, faults: createFaults() })
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
    const client = new KMSClient({ endpoint: kms.url, region: 'us-east-1', credentials })
    try {
      await work(client, await kms.keyArn('alias/kept'))
    } finally {
      client.destroy()
      await kms.close()
    }
  }

  it('ends with all its parts at SIGINT and at SIGTERM, and goes on within 10 s where it was', async () => {
    const stateDir = await ownState()
    let stack = await start(stateDir, { env: cheap })
    onTestFinished(() => ended(stack, 'SIGKILL'))
    const { token } = (await logIn(stack.info, 'both@shops.test')).body
    let ciphertext: Uint8Array | undefined
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const members = family(stack.info.pid)
      const programs = members.flatMap((pid) => programOf(pid) ?? []).join('\n')
      expect(programs).toContain('postgres')
      if (stack.info.cache === 'redis') expect(programs).toMatch(/redis|valkey/)
      expect(await stop(stack, signal)).toBe(0)
      expect(await leftOf(members)).toEqual([])
      await expect(stat(join(stateDir, 'stack.json'))).rejects.toMatchObject({ code: 'ENOENT' })
      await sealed(stateDir, async (client, KeyId) => {
        if (ciphertext === undefined) {
          const { CiphertextBlob } = await client.send(new EncryptCommand({ KeyId, Plaintext: Buffer.from('kept') }))
          ciphertext = CiphertextBlob
        } else {
          const { Plaintext } = await client.send(new DecryptCommand({ CiphertextBlob: ciphertext }))
          expect(Buffer.from(Plaintext ?? []).toString()).toBe('kept')
        }
      })
      stack = await start(stateDir, { env: cheap })
      expect(stack.afterMs).toBeLessThan(10_000)
      expect((await ask(stack.info, 'GET /v1/auth/session', { token })).status).toBe(200)
    }
  }, 60_000)

  it('that was killed leaves nothing that the next start cannot take over, and loses nothing', async () => {
    const stateDir = await ownState()
    const killed = await start(stateDir, { env: cheap })
    const { token } = (await logIn(killed.info, 'both@shops.test')).body
    const members = family(killed.info.pid)
    await stop(killed, 'SIGKILL')
    const next = await start(stateDir, { env: cheap })
    onTestFinished(() => ended(next))
    expect(next.afterMs).toBeLessThan(15_000)
    expect((await ask(next.info, 'GET /v1/auth/session', { token })).status).toBe(200)
    expect((await ask(next.info, 'GET /health/ready')).status).toBe(200)
    expect(await leftOf(members)).toEqual([])
  }, 60_000)

  it('that is stopped while it starts leaves no process behind, and starts the next time', async () => {
    const stateDir = await ownState()
    const first = launch(stateDir, { env: cheap })
    const members = new Set<number>()
    // Its database is there, and the rest is not yet.
    while (![...members].some((pid) => programOf(pid)?.includes('postgres') === true)) {
      for (const pid of family(first.child.pid ?? 0)) members.add(pid)
      await delay(5)
    }
    first.child.kill('SIGINT')
    await first.ended
    expect(await leftOf([...members])).toEqual([])
    const next = await start(stateDir, { env: cheap })
    onTestFinished(() => ended(next))
    expect((await logIn(next.info, 'both@shops.test')).status).toBe(200)
  }, 60_000)

  it('begins anew when it is told to', async () => {
    const stateDir = await ownState()
    const first = await start(stateDir, { env: cheap })
    const { token } = (await logIn(first.info, 'both@shops.test')).body
    await stop(first)
    const anew = await start(stateDir, { args: ['--fresh'], env: cheap })
    onTestFinished(() => ended(anew))
    expect((await ask(anew.info, 'GET /v1/auth/session', { token })).status).toBe(401)
    expect((await logIn(anew.info, 'both@shops.test')).status).toBe(200)
    expect(anew.info.database_url).not.toBe(first.info.database_url)
  }, 60_000)

  it.for([
    ['SESSION_IDLE_SECONDS', 'soon'],
    ['ARGON2_ITERATIONS', '0'],
    ['LOGIN_EMAIL_LIMIT', '-1'],
    ['PROBLEM_BASE_URL', 'not a URL'],
    ['PORT', '70000'],
    ['WEB_PORT', 'web'],
  ] as const)('is not begun with %s=%s, and says which setting it is', async ([name, value]) => {
    const stateDir = await ownState()
    const { ended, said } = launch(stateDir, { env: { [name]: value } })
    expect(await ended).toBe(1)
    expect(said()).toContain(name)
    expect(said()).not.toContain(value)
    expect(said()).not.toMatch(/^\s+at /m)
    await expect(stat(stateDir)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

describe('an instance that breaks', () => {
  it.for([
    ['ends its process', 'process.exit(3)'],
    ['throws where nobody catches', `setImmediate(() => { throw new Error('broken') }); await new Promise(() => {})`],
  ])('and %s is a 502 problem, and the next request finds another', async ([, crash]) => {
    const folder = await stateFolder()
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const handlerFile = join(folder, 'handler.mjs')
    await writeFile(
      handlerFile,
      `export const handler = async (event) => {
         if (event.path.endsWith('/break')) { ${crash} }
         return { statusCode: 200, headers: { 'content-type': 'application/json' }, body: '{"status":"ok"}' }
       }`,
    )
    const logs = createWriteStream(join(folder, 'functions.log'))
    const instances = await startInstances<APIGatewayProxyEvent, APIGatewayProxyResult>({
      handlerFile,
      functionName: 'broken',
      env: {},
      most: 2,
      logs,
    })
    const routes = ['GET /v1/test/break', 'GET /v1/test/work'] as const
    const group = routeGroup({
      name: 'broken',
      bodyLimitBytes: 1024,
      endpoints: routes.map((route) =>
        endpoint({ route, access: 'anyone', summary: 'A test', handle: async () => noContent() }),
      ),
    })
    const gateway = await startGateway({
      port: 0,
      problemBaseUrl: 'https://problems.test',
      integrations: [{ group, invoke: instances.invoke }],
    })
    onTestFinished(async () => {
      await gateway.close()
      await instances.close()
      logs.end()
    })
    for (let round = 0; round < 3; round += 1) {
      const broken = await fetch(`${gateway.url}/v1/test/break`)
      expect([broken.status, broken.headers.get('content-type')]).toEqual([502, 'application/problem+json'])
      expect(await broken.json()).toMatchObject({
        status: 502,
        type: 'https://problems.test/dependency-unavailable',
        instance: `urn:uuid:${broken.headers.get('x-request-id')}`,
      })
      const next = await Promise.all(Array.from({ length: 5 }, () => fetch(`${gateway.url}/v1/test/work`)))
      expect(next.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    }
  })
})
