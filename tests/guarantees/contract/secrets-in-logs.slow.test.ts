import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type HttpServer, json, type LocalReply, startHttpServer } from '#infra/local/http-server.ts'
import { hashPassword } from '#shared/password/argon2.ts'
import { newToken } from '#shared/secret/secret.ts'
import { encodings, tokenEncodings } from '#tests/support/encodings.ts'
import { codeNow, wrongCode } from '#tests/support/factor.ts'
import { createMember, createUser } from '#tests/support/minted-session.ts'
import { type RawRequest, rawRequest } from '#tests/support/raw-http.ts'
import { whileRefused } from '#tests/support/refuse-writes.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { startWholeStack, type WholeStack } from '#tests/support/whole-stack.ts'

const SLUG = 'acme-print'

let stack: WholeStack

// What must not be in the log, by name.
const tokens = new Map<string, string>()
const texts = new Map<string, string>()

let ses: HttpServer

beforeAll(async () => {
  ses = await startEchoingSes()
  const env = { AWS_ENDPOINT_URL_SESV2: ses.url, POWERTOOLS_LOG_LEVEL: 'DEBUG' }
  stack = await startWholeStack({ env, invokesJobs: true })
})
afterAll(async () => {
  await stack.close()
  await ses.close()
})

/** SES that repeats what it refuses, as the real one does with addresses. */
function startEchoingSes(): Promise<HttpServer> {
  const failure = (type: string, status: number, message: string) =>
    json(status, { __type: type, message }, { 'x-amzn-errortype': type })
  return startHttpServer({
    answer: ({ method, body }): LocalReply | Promise<LocalReply> => {
      // What the account may send.
      if (method === 'GET') return json(200, { SendingEnabled: true, SendQuota: { MaxSendRate: 100 } })
      const text = body.toString()
      const token = /[?]token=([A-Za-z0-9_-]{43})/.exec(text)?.[1]
      const to: string = JSON.parse(text).Destination.ToAddresses[0]
      const setupCode = /\\n([0-9A-Z]{4}-[0-9A-Z]{4})\\n/.exec(text)?.[1]
      if (setupCode !== undefined) planted('a setup code', setupCode)
      if (token !== undefined) tokens.set(`the token of the mail to ${to}, ${token.slice(0, 4)}`, token)
      if (to.startsWith('refused')) return failure('MessageRejected', 400, `Email address is not verified: ${text}`)
      if (to.startsWith('throttled')) return failure('TooManyRequestsException', 429, text)
      if (to.startsWith('broken')) return { status: 500, body: `${token ?? ''} ${text}` }
      if (to.startsWith('garbled')) return { status: 200, body: `${token ?? ''} ${text}` }
      if (to.startsWith('hung')) return new Promise(() => {})
      return json(200, { MessageId: 'a message' })
    },
  })
}

const planted = (what: string, text: string): string => {
  texts.set(what, text)
  return text
}

/** Sends a request. Returns the status and the body, and the token in it if there is one. */
async function ask(
  route: string,
  { body, headers = [] }: { body?: unknown; headers?: readonly string[] } = {},
): Promise<{ status: number; token: string; text: string }> {
  const [method = '', path = ''] = route.split(' ')
  const sent: Partial<RawRequest> =
    body === undefined
      ? { headers }
      : {
          headers: ['content-type', 'application/json', ...headers],
          body: typeof body === 'string' ? body : JSON.stringify(body),
        }
  const { status, text } = await rawRequest(stack.gateway.url, { method, path, ...sent })
  const token: unknown = status === 200 ? JSON.parse(text).token : undefined
  return { status, token: typeof token === 'string' ? token : '', text }
}

const by = (token: string): { headers: string[] } => ({ headers: ['authorization', `Bearer ${token}`] })

async function session(email: string): Promise<string> {
  const { token } = await createMember(stack.database.admin, { email, slug: SLUG })
  tokens.set(`the session token of ${email}`, token)
  return token
}

const tokenMailedTo = (email: string): string =>
  [...tokens].findLast(([what]) => what.includes(`mail to ${email}`))?.[1] ?? ''

/** Waits until each mail was tried once. Prevents retries. */
const mailed = () =>
  vi.waitUntil(
    async () => {
      const { admin } = stack.database
      await admin`update app.jobs set run_at = now() + interval '1 hour' where last_error is not null and dead_at is null`
      return (
        (await admin`select from app.jobs where kind = 'mail' and completed_at is null and last_error is null`)
          .length === 0
      )
    },
    { timeout: 25_000, interval: 50 },
  )

async function signIns(): Promise<void> {
  const right = await ask('POST /v1/auth/login', {
    body: { email: 'owner@acme.test', password: planted('the right password', PASSWORD) },
  })
  expect(right.status).toBe(200)
  tokens.set('the session token of a sign-in', right.token)
  const wrong = planted('a wrong password', 'planted: wrong, and with "quotes" é')
  for (const [body, status] of [
    [{ email: 'owner@acme.test', password: wrong }, 401],
    [{ email: planted('an unknown address', 'planted-unknown@logs.test'), password: wrong }, 401],
    [{ email: planted('a password in place of the address', 'planted in the address'), password: wrong }, 422],
    [{ email: 'owner@acme.test', password: [planted('a password in a list', 'planted in a list')] }, 422],
    [{ email: 'owner@acme.test', password: planted('a password that is too long', 'planted-'.repeat(200)) }, 422],
    [
      `{"email": "owner@acme.test", "password": "${planted('a password in broken JSON', 'planted in broken JSON')}`,
      400,
    ],
    [{ password: planted('a password in a large body', 'planted in a large body'), more: 'x'.repeat(20_000) }, 413],
  ] as const) {
    expect((await ask('POST /v1/auth/login', { body })).status).toBe(status)
  }
}

async function sessions(): Promise<void> {
  const token = await session('sessions@logs.test')
  for (const [route, headers, status] of [
    ['GET /v1/auth/session', ['authorization', `Bearer ${token}`], 200],
    ['GET /v1/auth/session', ['authorization', `Basic ${token}`], 401],
    ['GET /v1/auth/session', ['authorization', `Bearer ${token} ${token}`], 401],
    ['GET /v1/auth/session', ['authorization', `Bearer ${token}x`], 401],
    ['GET /v1/auth/session', ['cookie', `session=${token}`], 401],
    [`GET /v1/auth/session?token=${token}`, [], 401],
    [`GET /v1/members?cursor=${token}`, ['authorization', `Bearer ${token}`], 422],
    [`DELETE /v1/members/${token}`, ['authorization', `Bearer ${token}`], 404],
    [`GET /v1/${token}`, ['authorization', `Bearer ${token}`], 404],
    ['PUT /v1/auth/session', ['authorization', `Bearer ${token}`], 405],
    ['DELETE /v1/auth/session', ['authorization', `Bearer ${token}`], 204],
    ['GET /v1/auth/session', ['authorization', `Bearer ${token}`], 401],
  ] as const) {
    expect((await ask(route, { headers })).status, route).toBe(status)
  }
}

const SES_MOODS = ['sent', 'refused', 'throttled', 'broken', 'garbled', 'hung']

async function mails(): Promise<void> {
  const owner = await session('inviter@logs.test')
  for (const mood of SES_MOODS) {
    const invited = planted(`the address of one invited, ${mood}`, `${mood}-invited@logs.test`)
    const body = { email: invited, role: 'viewer' }
    expect((await ask('POST /v1/members/invite', { ...by(owner), body })).status).toBe(200)
    const forgetful = planted(`the address of one who forgot, ${mood}`, `${mood}-forgetful@logs.test`)
    await createUser(stack.database.admin, { email: forgetful })
    expect((await ask('POST /v1/auth/password/forgot', { body: { email: forgetful } })).status).toBe(204)
    const unverified = await session(planted(`the address of one unverified, ${mood}`, `${mood}-unverified@logs.test`))
    expect((await ask('POST /v1/auth/verify/resend', by(unverified))).status).toBe(204)
  }
  await mailed()
  for (const mood of SES_MOODS) {
    for (const who of ['invited', 'forgetful', 'unverified']) {
      expect(tokenMailedTo(`${mood}-${who}@logs.test`), `${mood}-${who}`).toMatch(/^[\w-]{43}$/)
    }
  }
}

async function singleUseTokens(): Promise<void> {
  const [invite, reset, verify] = ['invited', 'forgetful', 'unverified'].map((who) =>
    tokenMailedTo(`sent-${who}@logs.test`),
  )
  const weak = planted('a weak password', 'planted weak')
  const strong = planted('a new password', 'planted passphrase of the new one')
  const changed = planted('a changed password', 'planted passphrase of the change')
  const expectEach = async (route: string, bodies: readonly (readonly [object, number])[]) => {
    for (const [body, status] of bodies) expect((await ask(route, { body })).status, route).toBe(status)
  }
  await expectEach('POST /v1/auth/invitations/inspect', [
    [{ token: invite }, 200],
    [{ token: reset }, 400],
  ])
  await expectEach('POST /v1/auth/invitations/accept', [
    [{ token: invite, password: weak }, 422],
    [{ token: reset, password: strong }, 400],
    [{ token: `${invite}=`, password: strong }, 400],
    [{ token: invite, password: strong, full_name: 'Planted Person' }, 200],
    [{ token: invite, password: strong }, 200],
  ])
  await expectEach('POST /v1/auth/password/reset', [
    [{ token: reset, password: weak }, 422],
    [{ token: invite, password: strong }, 400],
    [{ token: reset, password: strong }, 204],
  ])
  await expectEach('POST /v1/auth/verify', [
    [{ token: reset }, 400],
    [{ token: verify }, 204],
  ])
  const { token } = await ask('POST /v1/auth/login', {
    body: { email: 'sent-forgetful@logs.test', password: strong },
  })
  tokens.set('the session token of one who reset', token)
  for (const [current_password, status] of [
    [weak, 422],
    [strong, 204],
  ] as const) {
    const body = { current_password, new_password: changed }
    expect((await ask('POST /v1/auth/password/change', { ...by(token), body })).status).toBe(status)
  }
}

/** Sets up an authenticator app, and signs in with it, with wrong codes and with a recovery code. */
async function secondFactors(): Promise<void> {
  const email = 'factor@logs.test'
  const first = await session(email)
  const password_hash = await hashPassword(PASSWORD, { memoryKib: 64, iterations: 1 })
  await stack.database.admin`update app.users set password_hash = ${password_hash} where email = ${email}`
  const json = async (route: string, options: Parameters<typeof ask>[1], status = 200) => {
    const answer = await ask(route, options)
    expect(answer.status, route).toBe(status)
    return answer.text === '' ? {} : JSON.parse(answer.text)
  }
  const draft = await json('POST /v1/auth/factors/draft', { ...by(first), body: {} })
  planted('the secret of an app', draft.secret)
  for (const [at, code] of draft.recovery_codes.entries()) planted(`recovery code ${at}`, code)
  await json('POST /v1/auth/factors/setup-code', by(first), 204)
  await vi.waitUntil(() => texts.has('a setup code'), { timeout: 25_000, interval: 50 })
  const setup_code = texts.get('a setup code')
  await json('POST /v1/auth/factors/totp', { ...by(first), body: { code: wrongCode(draft.secret), setup_code } }, 422)
  const added = await json('POST /v1/auth/factors/totp', {
    ...by(first),
    body: { code: codeNow(draft.secret), setup_code },
  })
  tokens.set('the session token of one who added an app', added.token)
  const { second_factor: open } = await json('POST /v1/auth/login', { body: { email, password: PASSWORD } })
  const { sign_in_token } = open
  tokens.set('the token of an open sign-in', sign_in_token)
  const finish = 'POST /v1/auth/login/second-factor'
  const [used = '', cut = ''] = draft.recovery_codes
  await json(finish, { body: { sign_in_token, code: wrongCode(draft.secret) } }, 422)
  await json(finish, { body: { sign_in_token, recovery_code: cut.slice(0, -1) } }, 422)
  await json(finish, { body: { sign_in_token, recovery_code: `${sign_in_token} ${used}` } }, 422)
  const signedIn = await json(finish, { body: { sign_in_token, recovery_code: used } })
  tokens.set('the session token of one who used a recovery code', signedIn.token)
  await json('POST /v1/auth/step-up', { ...by(signedIn.token), body: { recovery_code: used } }, 422)
  await json(`GET /v1/auth/factors?cursor=${sign_in_token}`, by(signedIn.token), 422)
}

/** Sends requests while the database refuses their writes with messages that repeat the data. */
async function failures(): Promise<void> {
  const { admin } = stack.database
  const owner = await session('failing@logs.test')
  await whileRefused(admin, ['app.sessions', 'app.tokens', 'app.jobs', 'app.users'], async () => {
    const reset = tokenMailedTo('throttled-forgetful@logs.test')
    const invite = tokenMailedTo('throttled-invited@logs.test')
    const password = planted('a password while the database fails', 'planted while the database fails')
    for (const [route, options] of [
      ['POST /v1/auth/login', { body: { email: 'owner@acme.test', password: PASSWORD } }],
      ['POST /v1/auth/password/reset', { body: { token: reset, password } }],
      ['POST /v1/auth/invitations/accept', { body: { token: invite, password } }],
      ['POST /v1/auth/password/forgot', { body: { email: planted('an address', 'planted-failing@logs.test') } }],
      ['POST /v1/members/invite', { ...by(owner), body: { email: 'planted-failing@logs.test', role: 'viewer' } }],
      ['GET /v1/auth/session', by(owner)],
    ] as const) {
      expect((await ask(route, options)).status, route).toBe(500)
    }
  })
}

/** Returns which secrets are in the text, and in which form. */
function leaksIn(text: string): string[] {
  const all = [
    ...[...tokens].map(([what, token]) => [what, tokenEncodings(token)] as const),
    ...[...texts].map(([what, secret]) => [what, encodings(secret)] as const),
  ]
  const lower = text.toLowerCase()
  return all.flatMap(([what, written]) =>
    Object.entries(written)
      .filter(([, needle]) => lower.includes(needle.toLowerCase()) || lower.includes(jsonText(needle).toLowerCase()))
      .map(([how]) => `${what} ${how}`),
  )
}

/** Another service sends them where it should not. */
async function openings(): Promise<void> {
  const token = await session('openings@logs.test')
  const address = planted('an address in a reason', 'planted-reason@logs.test')
  const [tenant] = await stack.database.admin`select id from app.tenants where slug = ${SLUG}`
  const asked = { tenant_id: tenant?.['id'], vendor: 'ss-activewear', reason: address, request_id: 'r' }
  const open = (event: object) => stack.invoke('open-credential', event, 25_000, 'billing')
  expect(await open(asked)).toBeNull()
  for (const wrong of [{ vendor: token }, { tenant_id: address }, { request_id: `${token}\n` }, { [token]: address }])
    await expect(open({ ...asked, ...wrong })).rejects.toThrow('The request needs')
}

const jsonText = (text: string): string => JSON.stringify(text).slice(1, -1)

describe('the log of the functions at level DEBUG', () => {
  it('contains no password, token or address in any encoding and in any failure', { timeout: 60_000 }, async () => {
    await signIns()
    await sessions()
    await mails()
    await singleUseTokens()
    await openings()
    await secondFactors()
    await mailed()
    await failures()
    await vi.waitUntil(
      () => stack.logged().includes('request failed') && stack.logged().split('a job failed').length > 12,
    )
    for (const line of [
      'signed in',
      'SecondFactorFailed',
      'request refused',
      'MessageRejected',
      'TooManyRequestsException',
      'AbortError',
    ]) {
      expect(stack.logged()).toContain(line)
    }
    expect(tokens.size).toBeGreaterThan(25)
    expect(leaksIn(stack.logged())).toEqual([])
  })

  it('would show a leak of a password, token or address to this test', () => {
    const token = newToken()
    tokens.set('a token that leaks', token)
    texts.set('a text that leaks', 'one "quoted" text')
    const bytes = Buffer.from(token, 'base64url')
    const line = JSON.stringify({ token, deep: { hex: bytes.toString('hex') }, text: 'one "quoted" text' })
    expect(leaksIn(line)).toEqual(
      expect.arrayContaining([
        'a token that leaks as it is',
        'a token that leaks in hex of the bytes',
        'a text that leaks as it is',
      ]),
    )
    expect(leaksIn(Buffer.from(line).toString())).not.toEqual([])
  })
})
