import { beforeAll, describe, expect, it } from 'vitest'
import { group } from '#functions/api/auth/group.ts'
import { lambda } from '#shared/http/lambda.ts'
import { keyedHash } from '#shared/secret/secret.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { inOneWindow } from '#tests/support/one-window.ts'
import { PASSWORD, PEPPER } from '#tests/support/service.ts'
import { TEST_SETTINGS } from '#tests/support/settings.ts'
import { useService } from '#tests/support/test.ts'

const PER_EMAIL = 10
const PER_NETWORK = 100
const WINDOW_SECONDS = Number(TEST_SETTINGS['LOGIN_WINDOW_SECONDS'])

// The limits are those of a deployment, and everybody shares the network of an office.
describe.each(['cache', 'database'])('narrow and wide limits counted in the %s', (store) => {
  const service = useService({
    env: {
      LOGIN_EMAIL_LIMIT: String(PER_EMAIL),
      LOGIN_ACCOUNT_LIMIT: '100',
      LOGIN_IP_LIMIT: String(PER_NETWORK),
      FORGOT_EMAIL_LIMIT: '3',
      FORGOT_IP_LIMIT: '5',
    },
  })
  let office = '198.51.100.0'
  let offices = 0
  beforeAll(async () => {
    if (store === 'database') await service.cache.stop()
  })
  /** Runs a test in an office of its own, within one window. */
  const inOffice = (work: () => Promise<void>, windowSeconds = WINDOW_SECONDS) =>
    inOneWindow(windowSeconds, async () => {
      offices += 1
      office = `198.51.100.${offices}`
      await service.sql`delete from app.rate_limits`
      await work()
    })

  const post = async (route: string, body: object, sourceIp = office) => {
    const handle = lambda(group, { config: service.runtime.config, open: async () => service.authRuntime })
    return (await handle(gatewayEvent({ route, body, sourceIp }), lambdaContext)).statusCode
  }
  const signIn = (email: string, password = PASSWORD, from = office) =>
    post('POST /v1/auth/login', { email, password }, from)
  const many = (count: number, call: (index: number) => Promise<number>) =>
    Promise.all(Array.from({ length: count }, (_, index) => call(index)))
  const inTurn = async (count: number, call: () => Promise<number>) => {
    const statuses: number[] = []
    for (let index = 0; index < count; index += 1) statuses.push(await call())
    return statuses
  }
  const tally = (statuses: readonly number[]) =>
    Object.fromEntries(Object.entries(Object.groupBy(statuses, String)).map(([status, all]) => [status, all?.length]))
  const attemptsOf = async (name: string, value: string): Promise<number> => {
    const [row] = await service.sql<{ attempts: number }[]>`
      select coalesce(sum(attempts), 0)::int as attempts from app.rate_limits where key = ${keyedHash(PEPPER, name, value)}`
    return row?.attempts ?? 0
  }

  it('lets the office sign in after one of its phones has tried an old password 110 times', async () => {
    await inOffice(async () => {
      const statuses = await inTurn(110, () => signIn('designer@acme.test', 'the old password'))
      expect(tally(statuses)).toEqual({ 401: PER_EMAIL, 429: 110 - PER_EMAIL })
      expect(await attemptsOf('login-ip', office)).toBe(PER_EMAIL)
      expect(await attemptsOf('login-account', 'designer@acme.test')).toBe(PER_EMAIL)
      for (const email of ['sales@acme.test', 'owner@acme.test', 'owner@bolt.test'])
        expect(await signIn(email), email).toBe(200)
      expect(await signIn('designer@acme.test', PASSWORD, '203.0.113.77')).toBe(200)
    })
  })

  it('lets the office sign in after a hundred wrong passwords for one of its emails at the same time', async () => {
    await inOffice(async () => {
      const statuses = await many(PER_NETWORK, () => signIn('viewer@acme.test', 'the old password'))
      expect(tally(statuses)).toEqual({ 401: PER_EMAIL, 429: PER_NETWORK - PER_EMAIL })
      expect(await attemptsOf('login-ip', office)).toBe(PER_EMAIL)
      expect(await signIn('sales@acme.test')).toBe(200)
    })
  })

  it('accepts 90 right passwords of one user at the same time, four times', async () => {
    await inOffice(async () => {
      for (let round = 0; round < 4; round += 1)
        expect(tally(await many(90, () => signIn('owner@bolt.test')))).toEqual({ 200: 90 })
      expect(await attemptsOf('login-ip', office)).toBe(0)
      expect(await attemptsOf('login-account', 'owner@bolt.test')).toBe(0)
      expect(await attemptsOf('login-email', `owner@bolt.test ${office}`)).toBe(0)
    })
  })

  it('gives each of many right and wrong passwords at the same time its own outcome', async () => {
    await inOffice(async () => {
      const statuses = await many(60, (index) =>
        index % 3 === 0 ? signIn(`stranger${index}@limits.test`, 'a wrong password') : signIn('sales@bolt.test'),
      )
      expect(tally(statuses)).toEqual({ 200: 40, 401: 20 })
      expect(await attemptsOf('login-ip', office)).toBe(20)
    })
  })

  it('charges an attempt over the limit of the network to no email', async () => {
    await inOffice(async () => {
      await many(PER_NETWORK, (index) => signIn(`person${index}@limits.test`, 'a wrong password'))
      expect(tally(await inTurn(20, () => signIn('owner@acme.test', 'a wrong password')))).toEqual({ 429: 20 })
      expect(await attemptsOf('login-account', 'owner@acme.test')).toBe(0)
      expect(await attemptsOf('login-email', `owner@acme.test ${office}`)).toBe(0)
      expect(await signIn('owner@acme.test', PASSWORD, '203.0.113.78')).toBe(200)
    })
  })

  it('mails a reset link to a colleague after one person has asked for theirs too often', async () => {
    await inOffice(async () => {
      const forgot = (email: string) => post('POST /v1/auth/password/forgot', { email })
      expect(tally(await inTurn(20, () => forgot('sales@acme.test')))).toEqual({ 204: 20 })
      expect(await attemptsOf('forgot-ip', office)).toBe(3)
      await service.mail.deliver()
      expect(await forgot('owner@acme.test')).toBe(204)
      expect(await service.mail.deliver()).toBe(1)
    }, 3600)
  })
})
