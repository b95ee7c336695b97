import { readFile, stat } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { pageResponse } from '#infra/gateway.ts'
import { LOCAL_CREDENTIALS } from '#infra/local/aws/sts.ts'
import { seedEmails, seedMemberships } from '#infra/local/seed.ts'
import type { StackInfo } from '#infra/local/stack.ts'
import { codeNow } from '#tests/support/factor.ts'
import { encodings } from '#tests/support/encodings.ts'
import { processTree } from '#tests/support/process-tree.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { TEST_SETTINGS } from '#tests/support/settings.ts'
import {
  launch,
  READY_TIMEOUT_MS,
  removeFolder,
  start,
  type Started,
  stateFolder,
  stop,
} from '#tests/support/stack-process.ts'
import { ask, commandOf, logIn, ownState, survivors } from './started-stack.ts'

describe('a started stack', () => {
  let folder: string
  let stateDir: string
  let stack: Started
  let info: StackInfo

  beforeAll(async () => {
    folder = await stateFolder()
    stateDir = join(folder, 'state')
    stack = await start(stateDir, { env: TEST_SETTINGS })
    info = stack.info
  }, READY_TIMEOUT_MS + 5000)
  afterAll(async () => {
    await stop(stack)
    await removeFolder(folder)
  })

  const setFault = async (fault: object) => {
    const response = await fetch(`${info.control_url}/faults`, { method: 'POST', body: JSON.stringify(fault) })
    expect(response.status).toBe(200)
  }

  it('writes the documented addresses to stack.json, and only its owner can read the state', async () => {
    const url = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/)
    const vendor = { account_number: expect.any(String), secret: expect.any(String) }
    expect(info).toStrictEqual({
      gateway_url: url,
      web_url: expect.stringMatching(/^http:\/\/localhost:\d+$/),
      mailbox_url: url,
      events_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/events$/),
      database_url: expect.stringMatching(/^postgres:\/\/postgres:[^@]+@127\.0\.0\.1:\d+\/\w+$/),
      app_database_url: expect.stringMatching(/^postgres:\/\/identity_app:[^@]+@127\.0\.0\.1:\d+\/\w+$/),
      control_url: url,
      lambda_url: url,
      cache: expect.stringMatching(/^(redis|in-process)$/),
      vendors: [
        { code: 'ss-activewear', ...vendor },
        { code: 'sanmar', ...vendor },
      ],
      second_factor: {
        email: 'secured@acme.test',
        totp_secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
        recovery_codes: expect.any(Array),
      },
      pid: stack.child.pid,
    })
    for (const file of ['stack.json', 'functions.log', 'mailbox.jsonl', 'secrets.json'])
      expect((await stat(join(stateDir, file))).mode & 0o777, file).toBe(0o600)
    expect((await fetch(`${info.web_url}/healthz`)).status).toBe(200)
    expect(await (await fetch(`${info.mailbox_url}/messages?to=nobody@shops.test`)).json()).toEqual({ data: [] })
    expect((await ask(info, 'GET /health/ready')).body).toEqual({ status: 'ok', database: 'ok', cache: 'ok' })
  })

  it('serves the front end, on which people sign in and whose own failures are pages', async () => {
    const origin = info.web_url
    const cookiesOf = ({ headers }: Response) => headers.getSetCookie().map((line) => line.split(';', 1)[0])
    const form = await fetch(`${origin}/sign-in`)
    const csrf = /name="csrf" value="([^"]+)"/.exec(await form.text())?.[1] ?? ''
    const signedIn = await fetch(`${origin}/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: cookiesOf(form).join('; '), origin },
      body: new URLSearchParams({ csrf, email: 'owner@acme.test', password: PASSWORD }),
    })
    expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, '/'])
    const start = await fetch(origin, { headers: { cookie: cookiesOf(signedIn).join('; ') } })
    expect([start.status, new URL(start.url).pathname]).toEqual([200, '/s/acme-print'])
    const refused = await fetch(origin, { headers: { 'x-long': 'a'.repeat(11_000) } })
    const { body, status, headers } = pageResponse('BAD_REQUEST_BODY', refused.headers.get('x-request-id') ?? '')
    expect([refused.status, await refused.text()]).toEqual([status, body])
    expect(Object.fromEntries(refused.headers)).toMatchObject(headers)
  })

  it('has a user with an authenticator app, who signs in by a code and by a recovery code of stack.json', async () => {
    const { email, totp_secret: secret, recovery_codes: codes } = info.second_factor
    for (const proof of [{ code: codeNow(secret) }, { recovery_code: codes[0] }]) {
      const { sign_in_token: token } = (await logIn(info, email)).body.second_factor
      const finished = await ask(info, 'POST /v1/auth/login/second-factor', {
        body: { sign_in_token: token, ...proof },
      })
      expect([finished.status, finished.body.user?.email]).toEqual([200, email])
    }
  })

  it('decides for other services, whose unmodified AWS SDK invokes authorize at lambda_url', async () => {
    const { token } = (await logIn(info, 'sales@acme.test')).body
    const client = new LambdaClient({ endpoint: info.lambda_url, region: 'us-east-1', credentials: LOCAL_CREDENTIALS })
    const question = { authorization: [`Bearer ${token}`], permission: 'deal.write', request_id: 'of-a-test' }
    const { Payload } = await client.send(
      new InvokeCommand({ FunctionName: 'authorize:live', Payload: JSON.stringify(question) }),
    )
    client.destroy()
    expect(JSON.parse(Payload?.transformToString() ?? '')).toEqual({
      outcome: 'refused',
      status: 403,
      slug: 'tenant-not-selected',
    })
  })

  it('explains the type of each problem on a page of the front end', async () => {
    const response = await fetch(`${info.gateway_url}/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    const { type, title }: any = await response.json()
    expect(type).toBe(`${info.web_url}/problems/validation-failed`)
    expect(await (await fetch(type)).text()).toContain(`<h1>${title}</h1>`)
  })

  it('takes requests from web pages only at the API and the front end', async () => {
    const headers = { origin: 'https://evil.test', 'content-type': 'text/plain' }
    const body = JSON.stringify({ command: 'set-status', slug: 'acme-print', status: 'suspended' })
    const operate = `${info.lambda_url}/2015-03-31/functions/operate/invocations`
    for (const url of [operate, `${info.control_url}/faults`, `${info.mailbox_url}/messages`])
      expect((await fetch(url, { method: 'POST', headers, body })).status, url).toBe(403)
    for (const url of [`${info.gateway_url}/health/live`, `${info.web_url}/healthz`])
      expect((await fetch(url, { headers })).status, url).toBe(200)
  })

  it('logs each refusal in one line, without passwords, tokens, emails or client addresses', async () => {
    const values = {
      password: 'planted-Password/with+signs "and" quotes',
      email: 'planted.person+tag@planted.example',
      forwarded: '203.0.113.77',
      address: '127.9.8.7',
      token: Buffer.from('a planted token of 32 bytes, yes').toString('base64url'),
    }
    const { password, email, token } = values
    const headers = { 'x-forwarded-for': values.forwarded, 'user-agent': 'planted agent' }
    const refusals: { id: string; route: string; status: number }[] = []
    for (const [route, status, options] of [
      ['POST /v1/auth/login', 401, { body: { email, password } }],
      ['POST /v1/auth/login', 401, { body: { email: 'sales@acme.test', password } }],
      ['POST /v1/auth/login', 422, { body: { email: `${email} ${password}`, password: [password] } }],
      ['POST /v1/auth/login', 400, { body: `{"email":"${email}","password":"${token}` }],
      ['GET /v1/auth/session', 401, { token }],
      [`GET /v1/auth/session?access_token=${token}`, 401, { headers: { authorization: `Basic ${token}` } }],
    ] as const) {
      const reply = await ask(info, route, {
        ...options,
        headers: { ...headers, ...('headers' in options ? options.headers : {}) },
      })
      expect([route, reply.status]).toEqual([route, status])
      refusals.push({ id: reply.headers.get('x-request-id') ?? '', route: route.replace(/\?.*/, ''), status })
    }
    // From another loopback address, which differs from the server's.
    const id = await new Promise<string>((resolve, reject) => {
      const options = { localAddress: values.address, headers: { authorization: `Bearer ${token}` } }
      const outgoing = httpRequest(`${info.gateway_url}/v1/auth/session`, options, (incoming) => {
        incoming.resume()
        resolve(String(incoming.headers['x-request-id']))
      })
      outgoing.on('error', reject).end()
    })
    refusals.push({ id, route: 'GET /v1/auth/session', status: 401 })

    const read = () => readFile(join(stateDir, 'functions.log'), 'utf8')
    await vi.waitUntil(async () => (await read()).includes(id), { timeout: 20_000 })
    const log = await read()
    for (const { id, route, status } of refusals) {
      const lines = log.split('\n').filter((line) => line.includes(id))
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ request_id: id, route, status, level: 'INFO' }])
    }
    for (const value of [...Object.values(values), 'sales@acme.test', PASSWORD]) {
      for (const [encoding, text] of Object.entries(encodings(value))) {
        expect(log.includes(text), `${value} ${encoding}`).toBe(false)
      }
    }
  })

  it('has the seeded users in their tenants and roles, who can all search the catalog', async () => {
    const roles = new Set<string>()
    for (const email of seedEmails) {
      const login = await logIn(info, email)
      expect([email, login.status]).toEqual([email, 200])
      const { token } = login.body
      const options = await ask(info, 'GET /v1/auth/tenants', { token })
      expect(options.body.data.map(({ tenant, role }: any) => `${tenant.slug} ${role.code}`).toSorted()).toEqual(
        seedMemberships.filter((membership) => membership.email === email).map(({ slug, role }) => `${slug} ${role}`),
      )
      for (const { tenant, role } of options.body.data) {
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

  it('refuses a second start on the same state and names the first', async () => {
    const second = launch(stateDir)
    expect(await second.exited).toBe(1)
    expect(second.output()).toContain(`Already running on ${stateDir}: ${info.gateway_url}`)
    expect((await ask(info, 'GET /health/ready')).status).toBe(200)
  })

  it.for([
    ['postgres', 'refuse', { database: 'failed' }, 503],
    ['postgres', 'hang', { database: 'failed' }, 503],
    ['cache', 'refuse', { database: 'ok', cache: 'failed' }, 200],
    ['cache', 'hang', { database: 'ok', cache: 'failed' }, 200],
  ] as const)('passes the %s fault %s on to the API, and recovers', async ([part, mode, dependencies, status]) => {
    const { token } = (await logIn(info, 'owner@acme.test')).body
    const statusOf = async (route: string) => (await ask(info, route, { token })).status
    await setFault({ part, mode })
    expect((await ask(info, 'GET /health/ready')).body).toMatchObject({ status: 503, ...dependencies })
    expect(await statusOf('GET /health/live')).toBe(200)
    expect(await statusOf('GET /v1/auth/session')).toBe(status)
    await setFault({ part, mode: 'ok' })
    await expect.poll(() => statusOf('GET /v1/auth/session'), { timeout: 20_000 }).toBe(200)
    await expect.poll(() => statusOf('GET /health/ready'), { timeout: 20_000 }).toBe(200)
  })

  it('counts the calls of its parts', async () => {
    const counts = async () => (await fetch(`${info.control_url}/calls`)).json()
    const { token } = (await logIn(info, 'owner@acme.test')).body
    const before: any = await counts()
    expect(Object.keys(before).toSorted()).toEqual([
      'cache',
      'eventbridge',
      'instance',
      'kms',
      'postgres',
      'secretsmanager',
      'ses',
      'vendor',
    ])
    await ask(info, 'GET /v1/auth/session', { token })
    const read: any = await counts()
    expect([read.postgres - before.postgres, read.cache - before.cache]).toEqual([1, 0])
    await ask(info, 'GET /health/ready')
    const ready: any = await counts()
    // The probe, and the cleaning of its connection.
    expect([ready.postgres - read.postgres, ready.cache - read.cache]).toEqual([2, 1])
  })
  // Reads processes from /proc. It is the last test, because it stops the stack.
  it.skipIf(process.platform !== 'linux')('ends all its processes and removes stack.json at SIGINT', async () => {
    const processes = processTree(info.pid)
    expect(processes.flatMap((pid) => commandOf(pid) ?? []).join('\n')).toContain('postgres')
    expect(await stop(stack)).toBe(0)
    expect(await survivors(processes)).toEqual([])
    await expect(stat(join(stateDir, 'stack.json'))).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

it.for([
  ['SESSION_IDLE_SECONDS', 'soon'],
  ['PROBLEM_BASE_URL', 'not a URL'],
  ['PORT', '70000'],
] as const)('rejects %s=%s before it starts anything, and names the setting', async ([name, value]) => {
  const stateDir = await ownState()
  const { exited, output } = launch(stateDir, { env: { [name]: value } })
  expect(await exited).toBe(1)
  expect(output()).toContain(name)
  expect(output()).not.toContain(value)
  expect(output()).not.toMatch(/^\s+at /m)
  await expect(stat(stateDir)).rejects.toMatchObject({ code: 'ENOENT' })
})
