import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { startSecretsManager } from '#infra/local/aws/secrets-manager.ts'
import type { Need } from '#shared/needs.ts'
import { processRuntime, type RuntimeSource, SERVICE_SECRET_TTL_MS, type ServiceSecret } from '#shared/runtime.ts'
import { processWorker } from '#shared/worker.ts'

const long = (name: string) => `${name} of which no use is made but in this test`
const BEFORE: ServiceSecret = { pepper: long('a pepper'), mail_key: long('a mail key') }
const CHANGED: ServiceSecret = {
  pepper: long('the next pepper'),
  pepper_previous: BEFORE.pepper,
  mail_key: BEFORE.mail_key,
  mail_key_previous: long('another mail key'),
}
const AFTER: ServiceSecret = { pepper: CHANGED.pepper, mail_key: BEFORE.mail_key }
const NEEDS: readonly Need[] = ['tokens']

const secrets: Record<string, string> = {}
const hold = (tokens: unknown) => {
  secrets['tokens'] = JSON.stringify(tokens)
}
const lose = () => delete secrets['tokens']
let server: Awaited<ReturnType<typeof startSecretsManager>>
const wait = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds)
const peppers = async (source: Pick<RuntimeSource, 'open'>) => {
  const { pepper, pepperPrevious } = await source.open()
  return [pepper, pepperPrevious]
}

beforeAll(async () => {
  server = await startSecretsManager({ secrets })
  vi.stubEnv('AWS_ENDPOINT_URL_SECRETS_MANAGER', server.url)
  vi.stubEnv('AWS_REGION', 'us-east-1')
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test')
  vi.stubEnv('SERVICE_SECRET_ID', 'tokens')
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

describe('the secrets of tokens', () => {
  it('are read again by the first request after five minutes, however long the instance was frozen, and by no other', async () => {
    expect(SERVICE_SECRET_TTL_MS).toBe(300_000)
    const source = processRuntime(NEEDS)
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
    ['no JSON', () => (secrets['tokens'] = 'pepper=x')],
  ])('go on when the secret is %s, and are asked for again half a minute later', async (_what, spoil) => {
    const source = processRuntime(NEEDS)
    await source.open()
    spoil()
    wait(SERVICE_SECRET_TTL_MS)
    expect(await peppers(source)).toEqual([BEFORE.pepper, undefined])
    hold(CHANGED)
    wait(29_999)
    expect(await peppers(source)).toEqual([BEFORE.pepper, undefined])
    wait(1)
    expect(await peppers(source)).toEqual([CHANGED.pepper, BEFORE.pepper])
  })

  it('are read by the next request when the first could not', async () => {
    const source = processRuntime(NEEDS)
    lose()
    await expect(source.open()).rejects.toThrow()
    hold(BEFORE)
    expect(await peppers(source)).toEqual([BEFORE.pepper, undefined])
  })

  it.each(['pepper_previous', 'mail_key_previous'])(
    'are refused with a %s that is too short to be one',
    async (name) => {
      hold({ ...BEFORE, [name]: 'short' })
      await expect(processRuntime(NEEDS).open()).rejects.toThrow(name)
    },
  )

  it('are read again for a job as for a request', async () => {
    vi.stubEnv('DATABASE_SECRET_ID', 'login')
    secrets['login'] = JSON.stringify({
      engine: 'postgres',
      username: 'a',
      password: 'b',
      host: '127.0.0.1',
      port: 1,
      dbname: 'c',
    })
    const source = processWorker({ name: 'a-job', needs: ['database:worker', 'tokens'], timeoutSeconds: 1 })
    const worker = await source.open()
    expect(worker.pepper).toBe(BEFORE.pepper)
    hold(CHANGED)
    wait(SERVICE_SECRET_TTL_MS)
    expect(await source.open()).toBe(worker)
    expect(worker).toMatchObject({ pepper: CHANGED.pepper, pepperPrevious: BEFORE.pepper })
    await worker.database.close()
  })
})
