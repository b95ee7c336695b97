import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { startSecretsManager } from '#infra/local/aws/secrets-manager.ts'
import { openRuntime, SERVICE_SECRET_TTL_MS } from '#shared/runtime.ts'

const long = (name: string) => `${name} that only this test uses`
const BEFORE = { pepper: long('a pepper'), mail_key: long('a mail key') }
const CHANGED = {
  pepper: long('the next pepper'),
  pepper_previous: BEFORE.pepper,
  mail_key: BEFORE.mail_key,
  mail_key_previous: long('another mail key'),
}
const AFTER = { pepper: CHANGED.pepper, mail_key: BEFORE.mail_key }
const open = () => openRuntime({ needs: ['service-secret'] })

const secrets: Record<string, string> = {}
const hold = (secret: unknown) => {
  secrets['service'] = JSON.stringify(secret)
}
const lose = () => delete secrets['service']
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
  vi.stubEnv('SERVICE_SECRET_ID', 'service')
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

describe('the service secret', () => {
  it('reads the service secret again at the first request after five minutes', async () => {
    expect(SERVICE_SECRET_TTL_MS).toBe(300_000)
    const source = open()
    const first = await source.open()
    expect(await peppers(source)).toEqual([BEFORE.pepper, undefined])
    hold(CHANGED)
    wait(SERVICE_SECRET_TTL_MS - 1)
    expect(await peppers(source)).toEqual([BEFORE.pepper, undefined])
    wait(1)
    expect(await Promise.all([peppers(source), peppers(source)])).toEqual([
      [CHANGED.pepper, BEFORE.pepper],
      [CHANGED.pepper, BEFORE.pepper],
    ])
    expect(first).toMatchObject({ mailKey: BEFORE.mail_key, mailKeyPrevious: CHANGED.mail_key_previous })
    hold(AFTER)
    expect(await peppers(source)).toEqual([CHANGED.pepper, BEFORE.pepper])
    wait(SERVICE_SECRET_TTL_MS * 100)
    expect(await peppers(source)).toEqual([AFTER.pepper, undefined])
    expect(await source.open()).toBe(first)
  })

  it.each([
    ['gone', lose],
    ['not whole', () => hold({ ...CHANGED, pepper_previous: 'short' })],
    ['no JSON', () => (secrets['service'] = 'pepper=x')],
  ])(
    'keeps the cached service secret when the stored one is %s, and retries after half a minute',
    async (_what, spoil) => {
      const source = open()
      await source.open()
      spoil()
      wait(SERVICE_SECRET_TTL_MS)
      expect(await peppers(source)).toEqual([BEFORE.pepper, undefined])
      hold(CHANGED)
      wait(29_999)
      expect(await peppers(source)).toEqual([BEFORE.pepper, undefined])
      wait(1)
      expect(await peppers(source)).toEqual([CHANGED.pepper, BEFORE.pepper])
    },
  )

  it('reads the service secret again at the next request after a failed read', async () => {
    const source = open()
    lose()
    await expect(source.open()).rejects.toThrow()
    hold(BEFORE)
    expect(await peppers(source)).toEqual([BEFORE.pepper, undefined])
  })

  it.each(['pepper_previous', 'mail_key_previous'])(
    'rejects a service secret with a %s that is too short',
    async (name) => {
      hold({ ...BEFORE, [name]: 'short' })
      await expect(open().open()).rejects.toThrow(name)
    },
  )
})
