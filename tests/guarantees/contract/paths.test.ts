import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { authorizationFor } from '#tests/support/authorization.ts'
import { expectContract } from '#tests/support/expect-answer.ts'
import { type MintedKey, mintKey } from '#tests/support/minted-key.ts'
import { mintSession, tenantId } from '#tests/support/minted-session.ts'
import { sampleQuery } from '#tests/support/samples.ts'
import { mintServiceKey, type ServiceKey } from '#tests/support/service-key.ts'
import { type RawAnswer, rawRequest, toAnswer } from '#tests/support/raw-http.ts'
import { methodsByPath, routes, takesId, withId, withUnknownId } from '#tests/support/routes.ts'
import { useService } from '#tests/support/test.ts'
import { ITEM, probes } from './probes.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY']
const paths = [...methodsByPath].map(([path, methods]) => ({ path, methods }))
const item = { path: ITEM.endpoint.path, methods: ['GET', 'HEAD'] }
// One real path without an id. In the assembly tests its bundle serves it.
const spelled = [item, ...paths.filter(({ path }) => path === '/v1/catalog/styles')]
const reads = routes.filter(({ endpoint }) => endpoint.method === 'GET')
const withIds = routes.filter(({ endpoint }) => takesId(endpoint.path))

const service = useService({ groups: [probes] })
let token: string
let key: ServiceKey
let apiKey: MintedKey
beforeAll(async () => {
  key = await mintServiceKey(service.sql)
  apiKey = await mintKey(service.sql, { tenant: await tenantId(service.sql, 'acme-print') })
  ;({ token } = await mintSession(service.sql, { email: 'owner@acme.test', slug: 'acme-print' }))
})

/** Sends a request signed in, without a body. The path stays as it is, byte for byte. */
const send = async (method: string, path: string, headers: readonly string[] = ['authorization', `Bearer ${token}`]) =>
  rawRequest(service.gateway.url, { method, path, headers })

async function expect405(path: string, methods: readonly string[], method: string): Promise<void> {
  for (const headers of [[], ['authorization', `Bearer ${token}`]]) {
    const raw = await send(method, withUnknownId(path), headers)
    expect(raw.status, method).toBe(405)
    const allowed = (raw.headers['allow']?.join(',') ?? '').split(',').map((name) => name.trim())
    expect(allowed.toSorted(), method).toEqual(methods.toSorted())
    if (method !== 'HEAD') expectContract(toAnswer(raw), null)
  }
}

describe('a method', () => {
  it.each(spelled)('$path returns 405 for every method that it does not declare', async ({ path, methods }) => {
    for (const method of METHODS.filter((method) => !methods.includes(method))) await expect405(path, methods, method)
  })

  it.each(paths)('$path returns 405 with the methods that it declares', ({ path, methods }) =>
    expect405(path, methods, METHODS.find((method) => !methods.includes(method)) ?? ''),
  )
})

describe('HEAD', () => {
  const VARYING = new Set(['x-request-id', 'date', 'x-session'])
  const headersOf = ({ headers }: RawAnswer) => Object.entries(headers).filter(([name]) => !VARYING.has(name))

  it.each(reads)('$name answers HEAD with the status and the headers of GET, and without a body', async (route) => {
    const { path } = route.endpoint
    const target = `${withUnknownId(path)}${sampleQuery(route)}`
    const credentials = ['authorization', authorizationFor(route, { token, key, apiKey })]
    for (const headers of [[], credentials, [...credentials, 'prefer', 'session']]) {
      const [get, head] = [await send('GET', target, headers), await send('HEAD', target, headers)]
      expect(head.status).toBe(get.status)
      expect(headersOf(head)).toEqual(headersOf(get))
      expect('x-session' in head.headers).toBe('x-session' in get.headers)
      expect(head.text).toBe('')
    }
    for (const wrong of ['?no_such_key=1', '?limit=0']) {
      const [get, head] = [
        await send('GET', `${withUnknownId(path)}${wrong}`, credentials),
        await send('HEAD', `${withUnknownId(path)}${wrong}`, credentials),
      ]
      expect(head.status, wrong).toBe(422)
      expect(get.status, wrong).toBe(422)
    }
  })

  it('lets nobody read or write what GET would not', async () => {
    const { sales } = await service.newTenant('sales')
    const credentials = ['authorization', `Bearer ${sales.token}`]
    expect((await send('HEAD', '/v1/audit-log', credentials)).status).toBe(403)
    expect((await send('HEAD', '/v1/auth/password/forgot', [])).status).toBe(405)
  })
})

describe('a path', () => {
  it.each(spelled)('$path returns 404 for every other spelling', async ({ path, methods }) => {
    const own = withId(path, '00000000-0000-4000-8000-000000000000')
    const spellings = [
      `${own}/`,
      `${own}//`,
      `/${own}`,
      own.toUpperCase(),
      own.replace('/v1', '/V1'),
      own.replace(/^\/(\w+)\//, '/$1//'),
      own.replace(/^\/(\w+)\//, '/$1/%2e/'),
      own.replace(/^\/(\w+)\//, '/$1/./'),
      own.replace(/^\/(\w+)\//, '/$1/%2e%2e/$1/'),
      own.replace(/^\/(\w+)\//, '/$1/../$1/'),
      own.replace(/^\/(\w+)\//, '/$1%2f'),
      `${own}%00`,
      `${own}%20`,
      `${own};a=b`,
      `${own}.json`,
      `${own}/x.css`,
      `${own}\\`,
      own.replace('/v1', '/v2'),
      own.replace('/v1', ''),
      own.replace(/\/([a-z])/, (_, letter: string) => `/%${letter.charCodeAt(0).toString(16)}`),
    ]
    for (const spelling of spellings) {
      for (const method of methods) {
        const raw = await send(method, spelling)
        expect(raw.status, `${method} ${spelling}`).toBe(404)
        if (method !== 'HEAD') expectContract(toAnswer(raw), null)
      }
    }
    expect((await service.request('GET /v1/auth/session', { token })).status).toBe(200)
  })

  it('returns 404 for an unknown path, with credentials and without', async () => {
    for (const path of ['/', '/v1', '/v1/', '/v1/unknown', '/debug', '/__test', '/v1/auth', '/.env', '*', '/%']) {
      for (const headers of [[], ['authorization', `Bearer ${token}`]]) {
        const raw = await send('GET', path, headers)
        expect(raw.status, path).toBe(404)
        expectContract(toAnswer(raw), null)
      }
    }
  })
})

describe('an id in a path', () => {
  const malformed = (uuid: string): string[] => [
    '1',
    '0',
    '-1',
    'null',
    'me',
    '{id}',
    '%7Bid%7D',
    `{${uuid}}`,
    `%7B${uuid}%7D`,
    `urn:uuid:${uuid}`,
    uuid.replaceAll('-', ''),
    uuid.slice(0, -1),
    `${uuid}0`,
    `${uuid}%00`,
    `%00${uuid}`,
    '%00',
    `${uuid}%0a`,
    `${uuid}%0d%0ax-evil:1`,
    `%20${uuid}`,
    `${uuid}%20`,
    `${uuid}%2f`,
    `${uuid}%2f..%2f${uuid}`,
    `${uuid},${uuid}`,
    `${uuid}%3fid=${uuid}`,
    `%25${uuid.charCodeAt(0).toString(16)}${uuid.slice(1)}`,
    uuid.replace(/^./, 'g'),
    uuid.replace(/^./, '%EF%BC%91'),
    "1'%20or%20'1'='1",
    "';select%20pg_sleep(20);--",
    '%ff',
    '%',
    '%zz',
    '%c0%ae',
    '..',
    '%2e%2e',
    '*',
    'a'.repeat(4000),
  ]

  async function expect404({ endpoint }: (typeof withIds)[number], id: string): Promise<void> {
    for (const headers of [[], ['authorization', `Bearer ${token}`]]) {
      const answer = toAnswer(await send(endpoint.method, withId(endpoint.path, id), headers))
      expect(answer.status, id).toBe(404)
      expect(answer.body.type).toBe('about:blank')
      expect(answer.body).not.toHaveProperty('detail')
      expectContract(answer, null)
    }
  }

  it.each([ITEM, ...withIds.slice(0, 1)])('$name returns 404 for an id that is not a UUID', async (route) => {
    for (const id of malformed(randomUUID())) await expect404(route, id)
  })

  it.each(withIds)('$name returns 404 for a malformed id', (route) => expect404(route, `${randomUUID()}0`))

  it('accepts an id in any case, and percent-encoded once', async () => {
    const id = randomUUID()
    for (const spelling of [
      id,
      id.toUpperCase(),
      `%${id.charCodeAt(0).toString(16)}${id.slice(1)}`,
      id.replaceAll('-', '%2D'),
    ]) {
      const answer = toAnswer(await send('GET', withId(ITEM.endpoint.path, spelling)))
      expect(answer.body, spelling).toEqual({ id })
    }
  })
})
