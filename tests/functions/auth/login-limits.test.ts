import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { group } from '#functions/api/auth/group.ts'
import { lambda } from '#shared/http/lambda.ts'
import { keyedHash } from '#shared/secret/secret.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { expectContract, expectProblem } from '#tests/support/expect-answer.ts'
import { rounds } from '#tests/support/rounds.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { type Answer, PASSWORD, PEPPER, startService, type TestService } from '#tests/support/service.ts'
import { TEST_SETTINGS } from '#tests/support/settings.ts'
import { useService } from '#tests/support/test.ts'

const PER_EMAIL = 10
const PER_ACCOUNT = 25
const PER_IP = 100
const WINDOW_SECONDS = Number(TEST_SETTINGS['LOGIN_WINDOW_SECONDS'])

const login = (service: TestService, email: string, password = 'a wrong password', headers = {}): Promise<Answer> =>
  service.request('POST /v1/auth/login', { body: { email, password }, headers })

/** Returns client addresses, each of another network. */
const networks = (count: number): string[] => Array.from({ length: count }, (_, index) => `2001:db8:${index}::1`)

/** Calls the login handler with this client address, as API Gateway reports it. */
const attemptFrom = async (
  service: TestService,
  sourceIp: string,
  email: string,
  password = 'a wrong password',
  headers = {},
) => {
  const handle = lambda(group, { config: service.runtime.config, open: async () => service.authRuntime })
  const event = gatewayEvent({ route: 'POST /v1/auth/login', body: { email, password }, sourceIp, headers })
  return (await handle(event, lambdaContext)).statusCode
}

const tally = (statuses: readonly number[]): Record<number, number> => {
  const counts: Record<number, number> = {}
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

const times = async <T>(count: number, call: (index: number) => Promise<T>): Promise<T[]> => {
  const results: T[] = []
  for (let index = 0; index < count; index += 1) results.push(await call(index))
  return results
}

describe.each(['cache', 'database'])('login limits counted in the %s', (store) => {
  const service = useService({
    env: {
      LOGIN_EMAIL_LIMIT: String(PER_EMAIL),
      LOGIN_ACCOUNT_LIMIT: String(PER_ACCOUNT),
      LOGIN_IP_LIMIT: String(PER_IP * 1000),
    },
  })
  beforeAll(async () => {
    if (store === 'database') await service.cache.stop()
  })

  it('allows ten wrong passwords for an email, then returns 429 even for the right one', async () => {
    const email = 'admin@acme.test'
    const allowed = await times(PER_EMAIL, () => login(service, email))
    expect(tally(allowed.map(({ status }) => status))).toEqual({ 401: PER_EMAIL })
    for (const password of ['a wrong password', PASSWORD]) {
      const answer = await login(service, email, password)
      expectProblem(answer, 'rate-limited')
      expectContract(answer, null)
      const retry = answer.headers.get('retry-after') ?? ''
      expect(retry).toMatch(/^[1-9]\d*$/)
      expect(Number(retry)).toBeLessThanOrEqual(WINDOW_SECONDS)
      expect(answer.headers.get('ratelimit')).toBe(`"login-email";r=0;t=${retry}`)
      expect(answer.headers.get('ratelimit-policy')).toBe(`"login-email";q=${PER_EMAIL};w=${WINDOW_SECONDS}`)
      expect(answer.text).not.toContain('acme')
    }
  })

  it('limits logins for an unknown email like those for a known one', async () => {
    const statuses = await times(PER_EMAIL + 2, async () => (await login(service, 'whoever@limits.test')).status)
    expect(tally(statuses)).toEqual({ 401: PER_EMAIL, 429: 2 })
  })

  it('counts all spellings of an email’s case together', async () => {
    const spellings = ['sales@bolt.test', 'SALES@BOLT.TEST', 'Sales@Bolt.Test', 'sALES@bOLT.tEST']
    const statuses = await times(
      PER_EMAIL + 4,
      async (index) => (await login(service, spellings[index % 4] ?? '')).status,
    )
    expect(tally(statuses)).toEqual({ 401: PER_EMAIL, 429: 4 })
  })

  it('does not count attempts on one email against another', async () => {
    await times(PER_EMAIL + 1, () => login(service, 'flooded@limits.test'))
    expect((await login(service, 'owner@bolt.test', PASSWORD)).status).toBe(200)
  })

  it('resets the count of wrong passwords after a successful login', async () => {
    for (let round = 0; round < 3; round += 1) {
      const wrong = await times(PER_EMAIL - 1, async () => (await login(service, 'designer@bolt.test')).status)
      expect(tally(wrong)).toEqual({ 401: PER_EMAIL - 1 })
      expect((await login(service, 'DESIGNER@bolt.test', PASSWORD)).status).toBe(200)
    }
  })

  it('ignores client-written headers when it counts login attempts', async () => {
    const statuses = await times(PER_EMAIL + 5, async (index) => {
      const address = `203.0.113.${index}`
      const headers = {
        'x-forwarded-for': address,
        'x-real-ip': address,
        forwarded: `for=${address}`,
        'true-client-ip': address,
        'user-agent': `agent ${index}`,
        'x-request-id': `request-${index}-0000`,
      }
      return (await login(service, 'headers@limits.test', 'a wrong password', headers)).status
    })
    expect(tally(statuses)).toEqual({ 401: PER_EMAIL, 429: 5 })
  })

  it('checks exactly ten of a hundred concurrent login attempts', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => login(service, 'viewer@bolt.test')))
    expect(tally(answers.map(({ status }) => status))).toEqual({ 401: PER_EMAIL, 429: 90 })
  })

  it('does not count a login whose body is rejected', async () => {
    const email = 'account@bolt.test'
    await times(PER_EMAIL + 5, () => service.request('POST /v1/auth/login', { body: { email, password: '' } }))
    await times(PER_EMAIL + 5, () => service.request('POST /v1/auth/login', { body: { email } }))
    expect((await login(service, email, PASSWORD)).status).toBe(200)
  })

  it('limits failed logins for an email over all networks, and spares those that the user has signed in from', async () => {
    const email = 'owner@acme.test'
    const [home = '', ...foreign] = networks(PER_ACCOUNT + 3)
    expect(await attemptFrom(service, home, email, PASSWORD)).toBe(200)
    const statuses = await times(PER_ACCOUNT + 2, (index) => attemptFrom(service, foreign[index] ?? '', email))
    expect(tally(statuses)).toEqual({ 401: PER_ACCOUNT, 429: 2 })
    expect(await attemptFrom(service, '203.0.113.9', email.toUpperCase(), PASSWORD)).toBe(429)
    expect(await attemptFrom(service, home, email, PASSWORD)).toBe(200)
    // A known network is spared for 30 days, and the strict limit still holds there.
    expect(tally(await times(PER_EMAIL + 1, () => attemptFrom(service, home, email)))).toEqual({
      401: PER_EMAIL,
      429: 1,
    })
    await service.sql`update app.known_networks set seen_at = now() - interval '30 days'`
    await service.sql`delete from app.rate_limits where part_of is not null`
    await service.cache.stop()
    expect(await attemptFrom(service, home, email, PASSWORD)).toBe(429)
    if (store === 'cache') await service.cache.start()
  })

  it('does not count successful logins over all networks, however many there are', async () => {
    for (const network of networks(PER_ACCOUNT + 5)) {
      expect(await attemptFrom(service, network, 'account@acme.test', PASSWORD)).toBe(200)
    }
    const [row] =
      await service.sql`select max(attempts)::int as most from app.rate_limits where key = ${keyedHash(PEPPER, 'login-account', 'account@acme.test')}`
    expect(row?.['most']).toBe(0)
  })

  it('resets only the count of its own network after a successful login', async () => {
    const email = 'designer@acme.test'
    const [one = '', other = ''] = networks(2)
    for (const network of [one, other]) await times(PER_EMAIL - 1, () => attemptFrom(service, network, email))
    expect(await attemptFrom(service, one, email, PASSWORD)).toBe(200)
    expect(tally(await times(2, () => attemptFrom(service, one, email)))).toEqual({ 401: 2 })
    expect(tally(await times(2, () => attemptFrom(service, other, email)))).toEqual({ 401: 1, 429: 1 })
  })

  it('resets the counts of all networks of a user when the password is reset', async () => {
    const email = 'viewer@acme.test'
    const addresses = networks(4)
    for (const network of addresses) await times(PER_EMAIL + 1, () => attemptFrom(service, network, email))
    expect(await attemptFrom(service, '203.0.113.9', email)).toBe(429)
    await service.request('POST /v1/auth/password/forgot', { body: { email } })
    const body = { token: await service.mail.tokenFor(email), password: 'a passphrase of the reset' }
    expect((await service.request('POST /v1/auth/password/reset', { body })).status).toBe(204)
    for (const network of [...addresses, '203.0.113.9']) {
      expect(await attemptFrom(service, network, email, body.password)).toBe(200)
    }
  })

  it(`reports the cache as ${store === 'cache' ? 'ok' : 'failed'} in readiness`, async () => {
    const ready = await service.request('GET /health/ready')
    expect(ready.status).toBe(store === 'cache' ? 200 : 503)
    expect(ready.body).toMatchObject({ database: 'ok', cache: store === 'cache' ? 'ok' : 'failed' })
  })
})

describe('a cache that fails between attempts', () => {
  it('keeps the attempts already counted when the cache fails', async () => {
    const service = await startService({
      env: { LOGIN_EMAIL_LIMIT: String(PER_EMAIL) },
    })
    onTestFinished(() => service.close())
    const statuses = await times(PER_EMAIL - 2, async () => (await login(service, 'owner@bolt.test')).status)
    await service.cache.stop()
    statuses.push(...(await times(PER_EMAIL, async () => (await login(service, 'owner@bolt.test')).status)))
    expect(tally(statuses)).toEqual({ 401: PER_EMAIL, 429: PER_EMAIL - 2 })
  })
})

describe('the login limit per client address', () => {
  const service = useService({
    env: {
      LOGIN_IP_LIMIT: String(PER_IP),
      TRUSTED_PROXIES: '203.0.113.0/24',
    },
  })
  let count = 0

  const flood = (addresses: readonly string[], attempts: number): Promise<number[]> =>
    Promise.all(
      Array.from({ length: attempts }, (_, index) => {
        count += 1
        return attemptFrom(service, addresses[index % addresses.length] ?? '', `someone${count}@limits.test`)
      }),
    )

  it('allows a hundred concurrent login attempts per client address, for any emails', async () => {
    expect(tally(await flood(['198.51.100.1'], 150))).toEqual({ 401: PER_IP, 429: 50 })
    expect(await attemptFrom(service, '198.51.100.1', 'owner@acme.test', PASSWORD)).toBe(429)
  })

  it('does not count login attempts of one client address against another', async () => {
    await flood(['198.51.100.2'], PER_IP + 1)
    expect(await attemptFrom(service, '198.51.100.3', 'owner@acme.test', PASSWORD)).toBe(200)
  })

  it('does not count a successful login against the client address', async () => {
    await flood(['198.51.100.4'], PER_IP - 1)
    for (let round = 0; round < 3; round += 1) {
      expect(await attemptFrom(service, '198.51.100.4', 'owner@acme.test', PASSWORD)).toBe(200)
    }
    expect(tally(await flood(['198.51.100.4'], 2))).toEqual({ 401: 1, 429: 1 })
  })

  it('counts all addresses of one IPv6 /64 network together', async () => {
    const sameNetwork = Array.from({ length: 20 }, (_, index) => `2001:db8:1:2:${index}::${index + 1}`)
    expect(tally(await flood([...sameNetwork, '2001:0DB8:0001:0002::'], 120))).toEqual({ 401: PER_IP, 429: 20 })
    expect(await attemptFrom(service, '2001:db8:1:3::1', 'owner@acme.test', PASSWORD)).toBe(200)
  })

  it('counts each client of a trusted proxy apart, and believes no other address', async () => {
    const through = (proxy: string, client: string, email: string, password?: string) =>
      attemptFrom(service, proxy, email, password, { 'X-Forwarded-For': `${client}, ${proxy}` })
    /** One attempt each of a hundred people. */
    const crowd = (proxy: string, batch: number) =>
      Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          through(proxy, `10.0.${batch}.${index}`, `person${index}@crowd${batch}.test`),
        ),
      )
    const guesses = Array.from({ length: PER_IP + 1 }, (_, index) =>
      through('203.0.113.5', '192.0.2.1', `guessed${index}@limits.test`),
    )
    expect(tally(await Promise.all(guesses))).toEqual({ 401: PER_IP, 429: 1 })
    for (const batch of rounds(10)) expect(tally(await crowd('203.0.113.5', batch))).toEqual({ 401: 100 })
    expect(await through('203.0.113.6', '10.0.0.1', 'owner@acme.test', PASSWORD)).toBe(200)
    const hash = keyedHash(PEPPER, 'ip', '10.0.0.1')
    expect(await service.sql`select from app.sessions where ip_hash = ${hash}`).toHaveLength(1)
    expect(tally(await crowd('198.51.100.7', 0))).toEqual({ 401: PER_IP })
    expect(tally(await crowd('198.51.100.7', 1))).toEqual({ 429: 100 })
  })

  it('counts an IPv4 address and its IPv6-mapped form together', async () => {
    expect(tally(await flood(['198.51.100.9', '::ffff:198.51.100.9', '::FFFF:198.51.100.9'], 120))).toEqual({
      401: PER_IP,
      429: 20,
    })
  })
})

describe('the window of a limit', () => {
  const service = useService({ env: { LOGIN_EMAIL_LIMIT: '20' } })
  // The tests move time in rows, so the attempts are counted in the database.
  beforeAll(() => service.cache.stop())

  const keyOf = (email: string): Buffer => keyedHash(PEPPER, 'login-email', `${email} 127.0.0.1`)
  /** Moves the counted attempts of an email back by whole windows. */
  const age = (email: string, windows: number) => service.sql`
    update app.rate_limits set window_start = window_start - make_interval(secs => ${windows * WINDOW_SECONDS})
     where key = ${keyOf(email)}`

  it('counts attempts of the previous window in proportion to its overlap with the sliding window', async () => {
    const email = 'sliding@limits.test'
    await times(20, () => login(service, email))
    expect((await login(service, email)).status).toBe(429)
    await age(email, 1)
    const elapsed = (): number => (Date.now() % (WINDOW_SECONDS * 1000)) / (WINDOW_SECONDS * 1000)
    const before = 20 - Math.floor(20 * (1 - elapsed()))
    const statuses = await times(21, async () => (await login(service, email)).status)
    const after = 20 - Math.floor(20 * (1 - elapsed()))
    const allowed = tally(statuses)[401] ?? 0
    expect(allowed).toBeGreaterThanOrEqual(before)
    expect(allowed).toBeLessThanOrEqual(after)
  })

  it('forgets login attempts after two windows', async () => {
    const email = 'over@limits.test'
    await times(21, () => login(service, email))
    await age(email, 2)
    const statuses = await times(21, async () => (await login(service, email)).status)
    expect(tally(statuses)).toEqual({ 401: 20, 429: 1 })
  })

  it('stores the email of a counted login attempt only as a keyed hash', async () => {
    const email = 'hashed@limits.test'
    await login(service, email)
    const rows = await service.sql<{ key: Buffer }[]>`select key from app.rate_limits`
    expect(rows.some(({ key }) => key.equals(keyOf(email)))).toBe(true)
    for (const { key } of rows) expect(key).toHaveLength(32)
  })
})
