import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { startSecretsManager } from '#infra/local/aws/secrets-manager.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { routeGroup } from '#shared/http/group.ts'
import { lambda } from '#shared/http/lambda.ts'
import { noContent } from '#shared/http/reply.ts'
import { openRuntime, TOKEN_SECRETS_TTL_MS } from '#shared/lambda/runtime.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'

const long = (name: string) => `${name} that only this test uses`
const BEFORE = { pepper: long('a pepper'), mail_key: long('a mail key') }
const CHANGED = {
  pepper: long('the next pepper'),
  pepper_previous: BEFORE.pepper,
  mail_key: BEFORE.mail_key,
  mail_key_previous: long('another mail key'),
}
const AFTER = { pepper: CHANGED.pepper, mail_key: BEFORE.mail_key }
const open = () => openRuntime({ needs: ['pepper', 'mail-key'] })

const FACTOR_KEY = long('a factor key')

const secrets: Record<string, string> = {}
/** Stores the fields of each secret, as an operator does. */
const hold = (fields: Readonly<Record<string, string>>) => {
  for (const name of ['pepper', 'mail_key'])
    secrets[name] = JSON.stringify(Object.fromEntries(Object.entries(fields).filter(([key]) => key.startsWith(name))))
}
const lose = () => delete secrets['pepper']
let server: Awaited<ReturnType<typeof startSecretsManager>>
const wait = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds)
const peppers = async (source: Pick<ReturnType<typeof open>, 'open'>) => {
  const { pepper, pepperPrevious } = await source.open()
  return [pepper, pepperPrevious]
}

beforeAll(async () => {
  server = await startSecretsManager({ secrets })
  vi.stubEnv('AWS_ENDPOINT_URL_SECRETS_MANAGER', server.url)
  vi.stubEnv('AWS_REGION', 'us-east-1')
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test')
  vi.stubEnv('PEPPER_SECRET_ID', 'pepper')
  vi.stubEnv('MAIL_KEY_SECRET_ID', 'mail_key')
  vi.stubEnv('FACTOR_KEY_SECRET_ID', 'factor_key')
})
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
  hold(BEFORE)
})
afterEach(() => {
  vi.useRealTimers()
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await server.close()
})

describe('the pepper and the mail key', () => {
  it('reads the pepper and the mail key again at the first request after five minutes', async () => {
    expect(TOKEN_SECRETS_TTL_MS).toBe(300_000)
    const source = open()
    const first = await source.open()
    expect(await peppers(source)).toEqual([BEFORE.pepper, undefined])
    hold(CHANGED)
    wait(TOKEN_SECRETS_TTL_MS - 1)
    expect(await peppers(source)).toEqual([BEFORE.pepper, undefined])
    wait(1)
    expect(await Promise.all([peppers(source), peppers(source)])).toEqual([
      [CHANGED.pepper, BEFORE.pepper],
      [CHANGED.pepper, BEFORE.pepper],
    ])
    expect(first).toMatchObject({ mailKey: BEFORE.mail_key, mailKeyPrevious: CHANGED.mail_key_previous })
    hold(AFTER)
    expect(await peppers(source)).toEqual([CHANGED.pepper, BEFORE.pepper])
    wait(TOKEN_SECRETS_TTL_MS * 100)
    expect(await peppers(source)).toEqual([AFTER.pepper, undefined])
    expect(await source.open()).toBe(first)
  })

  it.each([
    ['gone', lose],
    ['not whole', () => hold({ ...CHANGED, pepper_previous: 'short' })],
    ['no JSON', () => (secrets['pepper'] = 'pepper=x')],
  ])('keeps the cached pepper when the stored one is %s, and retries after half a minute', async (_what, spoil) => {
    const source = open()
    await source.open()
    spoil()
    wait(TOKEN_SECRETS_TTL_MS)
    expect(await peppers(source)).toEqual([BEFORE.pepper, undefined])
    hold(CHANGED)
    wait(29_999)
    expect(await peppers(source)).toEqual([BEFORE.pepper, undefined])
    wait(1)
    expect(await peppers(source)).toEqual([CHANGED.pepper, BEFORE.pepper])
  })

  it('reads the pepper again at the next request after a failed read', async () => {
    const source = open()
    lose()
    await expect(source.open()).rejects.toThrow()
    hold(BEFORE)
    expect(await peppers(source)).toEqual([BEFORE.pepper, undefined])
  })

  it('reads only the secret that a function needs', async () => {
    delete secrets['mail_key']
    const runtime = await openRuntime({ needs: ['pepper'] }).open()
    expect(runtime).toEqual({ config: expect.anything(), pepper: BEFORE.pepper })
  })

  it.each(['pepper_previous', 'mail_key_previous'])('rejects a %s that is too short', async (name) => {
    hold({ ...BEFORE, [name]: 'short' })
    await expect(open().open()).rejects.toThrow(name)
  })
})

describe('the factor key', () => {
  const factors = endpoint({
    route: 'GET /v1/factors',
    access: 'anyone',
    summary: 'A test',
    needs: ['factor-key'],
    handle: async ({ runtime }) => {
      expect(runtime.factorKey).toBe(FACTOR_KEY)
      return noContent()
    },
  })
  const group = routeGroup({ name: 'test', bodyLimitBytes: 1, endpoints: [factors] })
  const started = () => {
    const handle = lambda(group, openRuntime(group))
    return async () => (await handle(gatewayEvent({ route: 'GET /v1/factors' }), lambdaContext)).statusCode
  }

  it('is read at a start: without it a new instance answers 503, never 401, and one that has it goes on', async () => {
    secrets['factor_key'] = JSON.stringify({ factor_key: FACTOR_KEY })
    const warm = started()
    expect(await warm()).toBe(204)
    delete secrets['factor_key']
    wait(TOKEN_SECRETS_TTL_MS)
    const cold = started()
    expect([await warm(), await cold(), await cold(), await warm()]).toEqual([204, 503, 503, 204])
    secrets['factor_key'] = JSON.stringify({ factor_key: FACTOR_KEY })
    expect(await cold()).toBe(204)
  })

  it('is read again with its previous value during a change', async () => {
    secrets['factor_key'] = JSON.stringify({ factor_key: FACTOR_KEY })
    const source = openRuntime(group)
    const runtime = await source.open()
    expect(runtime).toMatchObject({ factorKey: FACTOR_KEY })
    secrets['factor_key'] = JSON.stringify({ factor_key: long('the next factor key'), factor_key_previous: FACTOR_KEY })
    wait(TOKEN_SECRETS_TTL_MS)
    await source.open()
    expect(runtime).toMatchObject({ factorKey: long('the next factor key'), factorKeyPrevious: FACTOR_KEY })
  })
})
