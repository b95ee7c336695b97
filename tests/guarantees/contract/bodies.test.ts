import { beforeAll, describe, expect, it } from 'vitest'
import { PAYLOAD_LIMIT_BYTES } from '#infra/gateway.ts'
import { requiresSession } from '#shared/http/access.ts'
import { expectContract } from '#tests/support/expect-answer.ts'
import { mintSession, tenantId } from '#tests/support/minted-session.ts'
import { PROBLEM_BASE_URL } from '#tests/support/problem-base-url.ts'
import { rawRequest, toAnswer } from '#tests/support/raw-http.ts'
import { type Route, routes, withUnknownId } from '#tests/support/routes.ts'
import { sampleBody } from '#tests/support/samples.ts'
import { mintServiceKey, type ServiceKey } from '#tests/support/service-key.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'
import { OPEN, probes, WRITE } from './probes.ts'

const SLUG = 'acme-print'
const CANARY = 'canary-1f9b7c'

const withBody = routes.filter(({ endpoint }) => endpoint.body !== null)
// One real route. In the assembly tests its bundle serves it.
const DEPLOYED = withBody.filter(({ name }) => name === 'POST /v1/members/invite')
const targets = [WRITE, OPEN, ...DEPLOYED]
/** The first route with a body of each group, because the size limit belongs to the group. */
const oneOfEachGroup = withBody.filter(
  ({ group }, index) => withBody.findIndex((route) => route.group === group) === index,
)

const service = useService({ groups: [probes] })
let token: string
let key: ServiceKey
let tenant: string
beforeAll(async () => {
  key = await mintServiceKey(service.sql)
  ;({ token } = await mintSession(service.sql, { email: 'owner@acme.test', slug: SLUG }))
  tenant = await tenantId(service.sql, SLUG)
})

/** Sends bytes to a route, signed in as the tenant's owner. */
async function send(
  { endpoint }: Route,
  body: string | Buffer | undefined,
  contentTypes: readonly string[] = ['application/json'],
): Promise<Answer> {
  const raw = await rawRequest(service.gateway.url, {
    method: endpoint.method,
    path: withUnknownId(endpoint.path),
    headers: [
      'authorization',
      endpoint.access === 'service' ? key.authorization : `Bearer ${token}`,
      ...contentTypes.flatMap((type) => ['content-type', type]),
    ],
    ...(body === undefined ? {} : { body }),
  })
  return toAnswer(raw)
}

function expectRefusal(route: Route, answer: Answer, status: number, kind: string | null, what: string): void {
  expect(answer.status, what).toBe(status)
  expect(answer.body.type, what).toBe(kind === null ? 'about:blank' : `${PROBLEM_BASE_URL}/${kind}`)
  expectContract(answer, requiresSession(route.endpoint.access) ? tenant : null)
  expect(answer.text + JSON.stringify([...answer.headers]), what).not.toContain(CANARY)
}

describe('a body', () => {
  it('finds two probes and a real route to test', () => expect(targets).toHaveLength(3))

  it.each(targets)('$name returns 415 for a body that is not sent as application/json', async (route) => {
    const body = JSON.stringify(sampleBody(route))
    for (const types of [
      [],
      [''],
      ['text/plain'],
      ['text/json'],
      ['application/x-www-form-urlencoded'],
      ['multipart/form-data; boundary=x'],
      ['application/problem+json'],
      ['application/vnd.api+json'],
      ['application/jsonx'],
      ['application/json-patch+json'],
      ['application/json, text/plain'],
      ['application/json; charset=utf-16'],
      ['application/json; charset=iso-8859-1'],
      ['application/json; charset=utf-8; charset=utf-16'],
      ['text/plain; application/json'],
      [' ;application/json'],
      ['application /json'],
      ['application/json; charset="utf-16"'],
      ['application/json; x="; charset=utf-8'],
      ['application/json; charset'],
      ['application/json; charset =utf-8'],
      ['application/json; x="a";charset=latin1'],
      [`application/json${'; '.repeat(2000)}=`],
    ]) {
      expectRefusal(route, await send(route, body, types), 415, null, types.join())
    }
    expect((await send(route, body, ['application/json', 'text/plain'])).status).toBe(415)
  })

  it.each(targets)('$name accepts application/json with any parameters, in any spelling of UTF-8', async (route) => {
    for (const type of [
      'application/json',
      'APPLICATION/JSON',
      'Application/Json',
      'application/json;charset=utf-8',
      'application/json; charset=UTF-8',
      'application/json ; charset=utf-8 ',
      'application/json;  charset="utf-8"',
      'application/json; charset=utf-8;',
      'application/json;; ;charset=utf-8 ; ',
      'application/json;\tcharset="ut\\f-8"',
      'application/json; version=1; profile="a;charset=utf-16,\\"b"; charset=utf-8',
    ]) {
      expectRefusal(route, await send(route, '{}', [type]), 422, 'validation-failed', type)
    }
  })

  it.each(targets)('$name returns 400 for a body that is not JSON in UTF-8', async (route) => {
    const text = JSON.stringify(sampleBody(route))
    const withBytes = (...bytes: number[]) =>
      Buffer.concat([Buffer.from(text.slice(0, -2)), Buffer.from(bytes), Buffer.from('"}')])
    const bodies: Record<string, string | Buffer | undefined> = {
      'nothing at all': undefined,
      'an empty body': '',
      blanks: ' \n ',
      'an open brace': '{',
      'a cut body': text.slice(0, -1),
      'a value behind it': `${text} 1`,
      'a second body': text + text,
      'a trailing comma': text.replace(/\}$/, ',}'),
      'single quotes': text.replaceAll('"', "'"),
      'a comment': `/* ${CANARY} */${text}`,
      'a bare word': CANARY,
      NaN: text.replace(/:"[^"]*"/, ':NaN'),
      undefined: 'undefined',
      'a control character in a string': text.replace(':"', `:"${CANARY}\n`),
      'a form': `email=${CANARY}&password=${CANARY}`,
      'invalid UTF-8': withBytes(0xff, 0xfe),
      'an overlong slash': withBytes(0xc0, 0xaf),
      'a surrogate in UTF-8': withBytes(0xed, 0xa0, 0x80),
      'UTF-16': Buffer.from(text, 'utf16le'),
      'a byte order mark': `\ufeff${text}`,
      'a NUL behind it': `${text}\0`,
      '33 levels of arrays': `${'['.repeat(33)}${']'.repeat(33)}`,
      '33 levels in a field': text.replace(/\}$/, `,"deep":${'['.repeat(32)}${']'.repeat(32)}}`),
      '33 levels of objects': `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`,
      'levels that never close': '['.repeat(1000),
    }
    for (const [what, body] of Object.entries(bodies)) {
      expectRefusal(route, await send(route, body), 400, 'malformed-json', what)
    }
  })

  it.each(targets)('$name accepts a body of 32 levels, not counting brackets within strings', async (route) => {
    for (const body of [
      `{"deep":${'['.repeat(31)}${']'.repeat(31)}}`,
      JSON.stringify({ brackets: '[{'.repeat(100) }),
      `{"escaped":"\\"${'['.repeat(100)}"}`,
    ]) {
      expectRefusal(route, await send(route, body), 422, 'validation-failed', body.slice(0, 20))
    }
  })

  it.each(targets)('$name returns 422 for a body that is not an object', async (route) => {
    for (const body of ['[]', 'null', 'true', '7', `"${CANARY}"`, `[${JSON.stringify(sampleBody(route))}]`]) {
      const answer = await send(route, body)
      expectRefusal(route, answer, 422, 'validation-failed', body)
      for (const { pointer } of answer.body.errors) expect(pointer).toMatch(/^#/)
    }
  })

  it.each([WRITE, ...oneOfEachGroup])(
    '$name accepts a body up to the limit of its group; the gateway rejects a far larger one',
    async (route) => {
      const sized = (bytes: number) => `{"${CANARY}":"${'a'.repeat(bytes - CANARY.length - 7)}"}`
      const { bodyLimitBytes } = route
      expect(sized(bodyLimitBytes)).toHaveLength(bodyLimitBytes)
      expectRefusal(route, await send(route, sized(bodyLimitBytes)), 422, 'validation-failed', 'at the limit')
      expectRefusal(route, await send(route, sized(bodyLimitBytes + 1)), 413, null, 'one byte more')
      expectRefusal(route, await send(route, '['.repeat(100_000)), 413, null, '100,000 levels')
      const multibyte = `{"${CANARY}":"${'é'.repeat(bodyLimitBytes / 2)}"}`
      expect(multibyte.length).toBeLessThan(bodyLimitBytes)
      expectRefusal(route, await send(route, multibyte), 413, null, 'bytes are counted, not characters')
      expectRefusal(route, await send(route, sized(1_000_000)), 413, null, '1 MB')
      const answer = await send(route, sized(PAYLOAD_LIMIT_BYTES + 1_000_000))
      expect(answer.status).toBe(413)
      expectContract(answer, null)
    },
  )

  it.each(targets)('$name keeps a body from changing the prototype of an object', async (route) => {
    const before = Object.getOwnPropertyDescriptors(Object.prototype)
    for (const body of [
      '{"__proto__":{"polluted":true,"status":200}}',
      '{"constructor":{"prototype":{"polluted":true}}}',
      '{"prototype":{"polluted":true},"toString":1,"valueOf":1,"hasOwnProperty":1}',
      `{"__proto__":${JSON.stringify(sampleBody(route))}}`,
      '{"__proto__":null}',
    ]) {
      expectRefusal(route, await send(route, body), 422, 'validation-failed', body)
      expect(Reflect.get({}, 'polluted')).toBeUndefined()
    }
    expect(Object.getOwnPropertyDescriptors(Object.prototype)).toEqual(before)
    expect((await service.request('GET /v1/auth/session', { token })).status).toBe(200)
  })

  it.each([WRITE, OPEN])('$name uses the last of two equal keys of a body and drops unknown keys', async (route) => {
    const parsed = async (body: string) => JSON.parse((await send(route, body)).body.body)
    expect(await parsed('{"name":{},"name":"last"}')).toEqual({ name: 'last' })
    expect(await parsed('{"\\u006eame":"escaped"}')).toEqual({ name: 'escaped' })
    expect(await parsed(`{"name":"known","${CANARY}":1,"tenant_id":1,"id":1,"status":200}`)).toEqual({
      name: 'known',
    })
    expectRefusal(route, await send(route, '{"name":"first","name":{}}'), 422, 'validation-failed', 'the last key')
  })

  it.each(DEPLOYED)('$name logs nothing of a body that it rejects', async (route) => {
    const lines = await service.logged(async () => {
      await send(route, `{"x":"${CANARY}`)
      await send(route, `{"${CANARY}":1}`)
      await send(route, `{"${CANARY}":1}`, [`text/${CANARY}`])
    })
    expect(lines).toContain('"request_id"')
    expect(lines).not.toContain(CANARY)
  })
})
