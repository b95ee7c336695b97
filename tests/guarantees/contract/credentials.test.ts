import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { lambda } from '#shared/http/lambda.ts'
import { newToken } from '#shared/secret/secret.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { CHALLENGE_HEADER, expectContract, indistinguishable } from '#tests/support/expect-answer.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { mintSession, tenantId } from '#tests/support/minted-session.ts'
import { rawBytes, rawRequest, toAnswer } from '#tests/support/raw-http.ts'
import { routes } from '#tests/support/routes.ts'
import { sampleBody } from '#tests/support/samples.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'
import { probes, READ, SESSION, WRITE } from './probes.ts'

const CHALLENGE = 'Bearer realm="api"'
const CHALLENGE_AFTER_TOKEN = 'Bearer realm="api", error="invalid_token"'

const service = useService({ groups: [probes] })
// In the assembly tests the sources serve the probes, and a bundle serves this route.
const DEPLOYED = routes.filter(({ name }) => name === 'GET /v1/auth/session')
const guarded = [...DEPLOYED, READ, WRITE, SESSION]
let token: string

beforeAll(async () => {
  ;({ token } = await newSession())
})

const newSession = (as = newToken()) =>
  mintSession(service.sql, { email: 'owner@acme.test', slug: 'acme-print', token: as })

/** Spellings of the credentials of a live session, none of which is `Bearer <token>`. */
const misspelt = (token: string): { spelling: string; value: string; tokenSent: boolean | null }[] => {
  const sent = (spelling: string, value: string) => ({ spelling, value, tokenSent: true })
  const alias = `${token.slice(0, -1)}${sameBytes(token.slice(-1))}`
  return [
    sent('one character short', `Bearer ${token.slice(0, -1)}`),
    sent('ten characters short', `Bearer ${token.slice(0, -10)}`),
    sent('one character long', `Bearer ${token}A`),
    sent('padded', `Bearer ${token}=`),
    sent('in the alphabet of plain base64', `Bearer ${token.replaceAll('-', '+').replaceAll('_', '/')}`),
    sent('another spelling of the same bytes', `Bearer ${alias}`),
    sent('in upper case', `Bearer ${token.toUpperCase()}`),
    sent('in hex', `Bearer ${Buffer.from(token, 'base64url').toString('hex')}`),
    sent('quoted', `Bearer "${token}"`),
    sent('percent-encoded', `Bearer %${token.charCodeAt(0).toString(16)}${token.slice(1)}`),
    sent('after a blank that is no space', `Bearer \t${token}`),
    sent('after two spaces and another token', `Bearer  x ${token}`),
    sent('twice', `Bearer ${token} ${token}`),
    sent('in a list', `Bearer ${token}, Bearer ${token}`),
    sent('with a character beyond ASCII', `Bearer ${token.slice(0, -1)}\u00e9`),
    sent('very long', `Bearer ${token.repeat(100)}`),
    { spelling: 'without a token', value: 'Bearer', tokenSent: null },
    { spelling: 'under the Basic scheme', value: `Basic ${token}`, tokenSent: false },
    { spelling: 'as Basic credentials', value: `Basic ${btoa(`${token}:`)}`, tokenSent: false },
    { spelling: 'under an unknown scheme', value: `Token ${token}`, tokenSent: false },
    { spelling: 'without a scheme', value: token, tokenSent: false },
    { spelling: 'with a colon', value: `Bearer:${token}`, tokenSent: false },
    { spelling: 'empty', value: '', tokenSent: false },
  ]
}

// The last of 43 characters contains four bits of the token, and two bits that decoding drops.
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const sameBytes = (last: string): string => ALPHABET[ALPHABET.indexOf(last) ^ 1] ?? ''

const challengeFor = (tokenSent: boolean): string => (tokenSent ? CHALLENGE_AFTER_TOKEN : CHALLENGE)

describe('credentials', () => {
  it.each(guarded)('$name rejects every other spelling of a valid token', async (route) => {
    // Contains both characters in which base64url differs from base64.
    const { token } = await newSession(`-_${newToken().slice(2)}`)
    const body = sampleBody(route)
    const { text } = indistinguishable(await service.request(route.name, { body })) as { text: string }
    for (const { spelling, value, tokenSent } of misspelt(token)) {
      const refused = await service.request(route.name, { body, headers: { authorization: value } })
      expect(refused.status, spelling).toBe(401)
      expectContract(refused, null)
      expect(indistinguishable(refused), spelling).toMatchObject({ text })
      const challenges = tokenSent === null ? [CHALLENGE, CHALLENGE_AFTER_TOKEN] : [challengeFor(tokenSent)]
      expect(challenges, spelling).toContain(refused.headers.get(CHALLENGE_HEADER))
    }
    expect((await service.request(route.name, { body, token })).status).toBe(200)
  })

  it.each(guarded)('$name accepts the scheme in any case, with one or more spaces', async (route) => {
    for (const scheme of ['bearer', 'BEARER', 'bEaReR', 'Bearer ', 'bearer     ']) {
      const headers = { authorization: `${scheme} ${token}` }
      expect((await service.request(route.name, { headers, body: sampleBody(route) })).status).toBe(200)
    }
  })

  it.each(guarded)('$name reads the token from the Authorization header only', async (route) => {
    const answer = await service.request(`${route.name}?access_token=${token}&token=${token}`, {
      headers: { cookie: `session=${token}; token=${token}`, 'x-authorization': `Bearer ${token}` },
      body: sampleBody(route),
    })
    expect(answer.status).toBe(401)
  })

  it('rejects a token with a trailing space, which only a gateway could pass on', async () => {
    const handle = lambda(probes, { config: service.runtime.config, open: async () => service.runtime })
    for (const route of [READ, WRITE, SESSION]) {
      const headers = { Authorization: `Bearer ${token} ` }
      expect((await handle(gatewayEvent({ route: route.name, headers }), lambdaContext)).statusCode).toBe(401)
    }
  })

  it('rejects two Authorization headers, even if both are valid', async () => {
    const good = `Bearer ${token}`
    expect((await session(['authorization', good])).status).toBe(200)
    for (const headers of [
      ['authorization', good, 'authorization', good],
      ['authorization', good, 'authorization', 'Bearer nonsense'],
      ['authorization', 'Bearer nonsense', 'authorization', good],
      ['authorization', 'Basic eDp5', 'authorization', good],
      ['Authorization', good, 'authorization', good],
      ['Authorization', good, 'authorization', 'Bearer nonsense'],
      ['AUTHORIZATION', 'Bearer nonsense', 'authorization', good],
    ]) {
      expect((await session(headers)).status, headers.join(' ')).toBe(401)
    }
  })
})

const session = (headers: readonly string[]) =>
  rawRequest(service.gateway.url, { method: 'GET', path: '/v1/auth/session', headers })

describe('headers', () => {
  it('returns a well-formed x-request-id', async () => {
    for (const id of ['abcdefgh', 'A-b_1234', 'x'.repeat(128), randomUUID()]) {
      const answer = await session(['authorization', `Bearer ${token}`, 'x-request-id', id])
      expect(answer.headers['x-request-id']).toEqual([id])
      const failure = toAnswer(await session(['x-request-id', id]))
      expect(failure.headers.get('x-request-id')).toBe(id)
      expectContract(failure, null)
    }
  })

  it('replaces a malformed x-request-id with a new UUID', async () => {
    const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
    const bad = [
      '',
      'short',
      'x'.repeat(129),
      'with space',
      'quote"quote',
      "o'clock",
      '<script>',
      'a;b=c;d',
      'ünicode!',
    ]
    const seen = new Set<string>()
    for (const id of [...bad, 'abcdefgh%0d%0a', '${jndi:ldap}', '../../etc/passwd', 'abcdefgh,abcdefgh']) {
      const answer = await session(['x-request-id', id])
      const [given = ''] = answer.headers['x-request-id'] ?? []
      expect(given, id).toMatch(uuid)
      expect(answer.headers['x-request-id']).toHaveLength(1)
      expect(JSON.parse(answer.text).instance).toBe(`urn:uuid:${given}`)
      seen.add(given)
    }
    expect(seen.size).toBe(bad.length + 4)
    // No HTTP client can send these, but a gateway could pass them on.
    const handle = lambda(probes, { config: service.runtime.config, open: async () => service.runtime })
    for (const id of ['abcdefgh\r\nset-cookie: a=b', 'abcdefgh\n', '\rabcdefgh', 'abcdefgh\0', 'abcdefgh\u2028']) {
      const answer = await handle(gatewayEvent({ route: SESSION.name, headers: { 'X-Request-Id': id } }), lambdaContext)
      expect(answer.headers?.['x-request-id'], JSON.stringify(id)).toMatch(uuid)
    }
  })

  it('never passes a folded or malformed header on to a function', async () => {
    const head = 'GET /v1/auth/session HTTP/1.1\r\nhost: a\r\nconnection: close\r\n'
    for (const line of [
      `authorization: Bearer\r\n ${token}`,
      `authorization : Bearer ${token}`,
      `x-request-id: abcdefgh\0`,
      'x-evil: a\rb: c',
      'transfer-encoding: chunked\r\ncontent-length: 5',
      'content-length: 1\r\ncontent-length: 2',
      `x-big: ${'a'.repeat(20_000)}`,
    ]) {
      const text = await rawBytes(service.gateway.url, `${head}${line}\r\n\r\n`)
      expect(text.split('\r\n', 1)[0], line.slice(0, 30)).toMatch(/^HTTP\/1\.1 4\d\d /)
      expect(text).not.toContain('"session"')
      expect(text).toContain('content-type: application/problem+json')
    }
  })

  it('takes neither principal nor tenant from any other header', async () => {
    const [other] = await service.sql`select id from app.tenants where slug = 'bolt-apparel'`
    const [user] = await service.sql`select id from app.users where email = 'owner@bolt.test'`
    const forged = {
      'x-forwarded-for': '203.0.113.7',
      'x-forwarded-host': 'evil.test',
      'x-forwarded-proto': 'http',
      forwarded: 'for=203.0.113.7;host=evil.test',
      'x-real-ip': '203.0.113.7',
      'true-client-ip': '203.0.113.7',
      'cf-connecting-ip': '203.0.113.7',
      'x-tenant-id': other?.['id'],
      'x-tenant': 'bolt-apparel',
      'x-user-id': user?.['id'],
      'x-role': 'owner',
      'x-permissions': '*',
      'x-original-url': '/health/live',
      'x-rewrite-url': '/health/live',
      'x-http-method-override': 'DELETE',
      'x-amzn-oidc-identity': 'owner@bolt.test',
      cookie: `tenant_id=${other?.['id']}`,
    }
    const viewer = await mintSession(service.sql, { email: 'viewer@acme.test', slug: 'acme-print' })
    const plain = await service.request('GET /v1/auth/session', { token: viewer.token })
    const answer = await service.request('GET /v1/auth/session', { token: viewer.token, headers: forged })
    expect(answer.status).toBe(200)
    const { session, ...who } = plain.body
    expect(answer.body).toMatchObject(who)
    expect(answer.body.session.id).toBe(session.id)
    expect(answer.headers.get('x-tenant-id')).toBe(await tenantId(service.sql, 'acme-print'))
    expect((await service.request('GET /v1/auth/session', { headers: forged })).status).toBe(401)

    const login = { body: { email: 'viewer@acme.test', password: PASSWORD } }
    const hashes = await Promise.all(
      [{}, forged].map(async (headers) => {
        const { body } = await service.request('POST /v1/auth/login', { ...login, headers })
        const [row] = await service.sql`select ip_hash from app.sessions where id = ${body.session.id}`
        return row?.['ip_hash'].toString('hex')
      }),
    )
    expect(hashes[0]).toBe(hashes[1])
  })
})
