import { readFile } from 'node:fs/promises'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { GATEWAY_RESPONSES } from '#infra/gateway.ts'
import { derivedFiles } from '#infra/tools/openapi.ts'
import { parseConfig } from '#shared/base/config.ts'
import { isOpenToKeys, isTenantAccess, requiresSession } from '#shared/http/access.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { openApiDocument } from '#shared/http/openapi.ts'
import { noContent, ok } from '#shared/http/reply.ts'
import { document, faultsOf, type SeenAnswer } from '#tests/support/documented.ts'
import { fieldsOf, routes } from '#tests/support/routes.ts'

const operationOf = (name: string): any => {
  const [method = '', path = ''] = name.split(' ')
  return document['paths'][path]?.[method.toLowerCase()]
}

describe('the API document', () => {
  it('is up to date with the route groups: run `npm run openapi` if it is not', async () => {
    for (const { path, text } of await derivedFiles()) {
      expect(await readFile(new URL(`../../../${path}`, import.meta.url), 'utf8'), path).toBe(text)
    }
  })

  it('contains every route, and no other', () => {
    const documented = Object.entries<object>(document['paths']).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(documented.toSorted()).toEqual(routes.map(({ name }) => name).toSorted())
    expect(documented).toContain('GET /v1/openapi.json')
    const ids = routes.map(({ name }) => operationOf(name).operationId)
    expect(new Set(ids).size).toBe(routes.length)
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]+$/)
  })

  it.each(routes)('states who may call $name', ({ name, endpoint }) => {
    const { access } = endpoint
    const { security, responses, 'x-permission': permission } = operationOf(name)
    const schemes = [
      ...(requiresSession(access) ? ['session'] : []),
      ...(isOpenToKeys(endpoint) ? ['apiKey'] : []),
      ...(access === 'service' ? ['service'] : []),
    ]
    expect(security).toEqual(schemes.map((scheme) => ({ [scheme]: [] })))
    expect(permission).toBe((isTenantAccess(access) && access.permission) || undefined)
    if (access !== 'anyone') expect(responses).toHaveProperty('401')
  })

  it.each(routes)(
    'states the parameters and the body of $name, with its limit of size',
    ({ name, endpoint, bodyLimitBytes }) => {
      const { parameters, requestBody } = operationOf(name)
      const named = (place: string) =>
        parameters.filter((parameter: any) => parameter.in === place).map((parameter: any) => parameter.name)
      expect(named('path')).toEqual([...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, param]) => param))
      expect(named('query')).toEqual(endpoint.query === null ? [] : fieldsOf(endpoint.query).map(({ name }) => name))
      if (endpoint.body === null) expect(requestBody).toBeUndefined()
      else expect(requestBody.description).toContain(`at most ${bodyLimitBytes} bytes`)
    },
  )

  it.each(routes)('contains examples of $name that fit its schemas', ({ name, endpoint }) => {
    const { requestBody, responses } = operationOf(name)
    if (endpoint.body !== null) {
      expect(v.safeParse(endpoint.body, requestBody.content['application/json'].example).issues).toBeUndefined()
    }
    if (endpoint.reply !== null) {
      const { example } = responses['200'].content['application/json']
      expect(v.safeParse(endpoint.reply, example).issues).toBeUndefined()
      expect(faultsOf(endpoint.method, endpoint.path, answerOf(name, 200, example))).toEqual([])
    } else expect(responses).toHaveProperty('204')
  })

  it('contains examples of problems that fit their schemas', () => {
    for (const { name, endpoint } of routes) {
      for (const [status, { $ref }] of Object.entries<any>(operationOf(name).responses)) {
        const response = document['components'].responses[$ref?.split('/').at(-1)]
        if (response === undefined) continue
        for (const { value } of Object.values<any>(response.content['application/problem+json'].examples)) {
          const answer = answerOf(name, Number(status), value)
          expect(faultsOf(endpoint.method, endpoint.path, answer), `${name} ${status}`).toEqual([])
        }
      }
    }
  })

  it('declares the gateway’s own failures on every route', () => {
    const ofNoRoute = new Set(['MISSING_AUTHENTICATION_TOKEN', 'BAD_REQUEST_BODY', 'UNSUPPORTED_MEDIA_TYPE'])
    for (const [failure, { status }] of Object.entries(GATEWAY_RESPONSES)) {
      if (ofNoRoute.has(failure)) continue
      for (const { name } of routes) expect(operationOf(name).responses, name).toHaveProperty(String(status))
    }
  })
})

describe('a document of other endpoints', () => {
  const write = (...endpoints: Parameters<typeof asOperation>[0][]): any =>
    openApiDocument(endpoints.map(asOperation), { gateway: [], config: parseConfig({ PEPPER_SECRET_ID: 'none' }) })
  const asOperation = (one: ReturnType<typeof endpoint>, index: number) => ({
    operationId: `operation${index}`,
    group: 'test',
    bodyLimitBytes: 1024,
    endpoint: one,
  })
  const answering = <Reply extends v.GenericSchema>(path: string, reply: Reply) =>
    endpoint({
      route: `GET /v1/test/${path}`,
      access: 'anyone',
      summary: 'A test',
      reply,
      handle: () => Promise.reject(new Error('not called')),
    })

  it('defines a schema with a title once, and refers to it', () => {
    const Thing = v.pipe(v.object({ on: v.boolean() }), v.title('Thing'))
    const { components, paths } = write(answering('a', v.array(Thing)), answering('b', v.nullable(Thing)))
    expect(components.schemas).toMatchObject({ Thing: { properties: { on: { type: 'boolean' } } } })
    const $ref = '#/components/schemas/Thing'
    const schemaOf = (path: string) => paths[path].get.responses[200].content['application/json'].schema
    expect(schemaOf('/v1/test/a')).toEqual({ type: 'array', items: { $ref } })
    expect(schemaOf('/v1/test/b')).toEqual({ anyOf: [{ $ref }, { type: 'null' }] })
  })

  it('rejects two schemas with the same title, and a schema without an example', () => {
    const named = () => v.pipe(v.object({ on: v.boolean() }), v.title('Thing'))
    expect(() => write(answering('a', named()), answering('b', named()))).toThrow('Two schemas have the title Thing')
    expect(() => write(answering('a', v.object({ name: v.string() })))).toThrow(
      'GET /v1/test/a reply/name has no example',
    )
  })

  it('contains the problems that an endpoint declares, with their members', () => {
    const refusing = endpoint({
      route: 'POST /v1/test/refusing',
      access: 'anyone',
      summary: 'A test',
      problems: [404, 'last-owner', { kind: 'vendor-rejected', members: v.object({ vendor: v.string() }) }],
      handle: async (_exchange) => noContent(),
    })
    const { components, paths } = write(refusing)
    const schemaOf = (status: number) => {
      const { $ref } = paths['/v1/test/refusing'].post.responses[status]
      return components.responses[$ref.split('/').at(-1)].content['application/problem+json'].schema
    }
    expect(schemaOf(404).properties.type).toEqual({ enum: ['about:blank'] })
    expect(schemaOf(404).properties).not.toHaveProperty('detail')
    expect(schemaOf(409).properties.type).toEqual({ enum: ['https://tenantry.example/problems/last-owner'] })
    expect(schemaOf(422).properties).toMatchObject({ vendor: { type: 'string' } })
    expect(schemaOf(422).required).not.toContain('vendor')
  })
})

/** Returns a response as the document declares it, with this body. */
function answerOf(name: string, status: number, body: unknown): SeenAnswer {
  const declared = operationOf(name).responses[status]
  const { components } = document as any
  const { headers, content } =
    declared.$ref === undefined ? declared : components.responses[declared.$ref.split('/').at(-1)]
  const values: Record<string, string> = {
    ETag: '"UhJ1Yg0aP3x7cWZkQvM5bA"',
    RequestId: 'abcdefgh',
    StrictTransportSecurity: 'max-age=63072000; includeSubDomains',
    TenantId: '0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b',
    RetryAfter: '1',
  }
  const sent = Object.entries<any>(headers).flatMap(([header, part]): [string, string][] => {
    const key = part.$ref?.split('/').at(-1)
    const { required = false, schema } = key === undefined ? part : components.headers[key]
    return required ? [[header, values[key] ?? schema.const ?? schema.enum[0]]] : []
  })
  return {
    status,
    headers: [...sent, ['content-type', Object.keys(content)[0] ?? '']],
    text: JSON.stringify(body),
  }
}

describe('a response', () => {
  const name = 'GET /v1/auth/tenants'
  const { example } = operationOf(name).responses[200].content['application/json']
  const good = answerOf(name, 200, example)
  const faults = (answer: SeenAnswer, method = 'GET', path = '/v1/auth/tenants') => faultsOf(method, path, answer)
  const without = (header: string) => [...good.headers].filter(([sent]) => sent !== header)
  const [tenant] = example.data

  it('finds no fault in a response that the document declares', () => {
    expect(faults(good)).toEqual([])
    expect(faults(good, 'GET', '/v1/auth/tenants?a=b')).toEqual([])
  })

  it.each([
    ['a status', { ...good, status: 201 }, 'status 201 is not declared'],
    ['a property', { ...good, text: JSON.stringify({ ...example, more: 1 }) }, '"additionalProperty":"more"'],
    [
      'a property of a part',
      { ...good, text: JSON.stringify({ data: [{ ...tenant, role: { ...tenant.role, id: 1 } }] }) },
      '/data/0/role must NOT have additional properties',
    ],
    ['a missing property', { ...good, text: '{}' }, "must have required property 'data'"],
    ['a type', { ...good, text: '{"data":{}}' }, '/data must be array'],
    [
      'an id',
      { ...good, text: JSON.stringify({ data: [{ ...tenant, membership_id: '7' }] }) },
      'must match format "uuid"',
    ],
    ['an empty body', { ...good, text: '' }, 'SyntaxError'],
    [
      'a content type',
      { ...good, headers: [...without('content-type'), ['content-type', 'text/plain']] },
      'text/plain',
    ],
    ['a header', { ...good, headers: [...good.headers, ['set-cookie', 'a=b']] }, 'header set-cookie is not declared'],
    ['a missing header', { ...good, headers: without('x-request-id') }, 'header x-request-id is missing'],
    [
      'a header of another value',
      { ...good, headers: [...without('cache-control'), ['cache-control', 'public']] },
      'header cache-control: ',
    ],
  ] as const)('with %s that the document does not declare has a fault', (_, answer, fault) => {
    expect(faults(answer).join()).toContain(fault)
  })

  it('finds a fault in a problem of another kind or with too many members', () => {
    const forbidden = operationOf(name).responses[403].$ref.split('/').at(-1)
    const [{ value }] = Object.values<any>(
      (document as any).components.responses[forbidden].content['application/problem+json'].examples,
    )
    expect(faults(answerOf(name, 403, value))).toEqual([])
    const other = { ...value, type: 'https://tenantry.example/problems/last-owner' }
    expect(faults(answerOf(name, 403, other)).join()).toContain('/type must be equal to one of the allowed values')
    expect(faults(answerOf(name, 403, { ...value, detail: 'You lack member.manage.' })).join()).toContain('"detail"')
    expect(faults(answerOf(name, 403, { ...value, status: 404 })).join()).toContain('/status')
  })

  it('finds a fault in a response to an undeclared path or method, unless it is a refusal', () => {
    expect(faults(good, 'GET', '/v1/auth/secrets')).not.toEqual([])
    expect(faults({ ...good, status: 404 }, 'GET', '/v1/auth/secrets')).toEqual([])
    expect(faults(good, 'POST')).not.toEqual([])
    expect(faults({ ...good, status: 405, headers: [['allow', 'GET, HEAD']] }, 'POST')).toEqual([])
    expect(faults({ ...good, status: 405, headers: [['allow', 'GET, HEAD, PUT']] }, 'POST')).not.toEqual([])
  })
})

describe('handle', () => {
  it('does not compile a handle that returns another shape', () => {
    const common = { access: 'anyone', summary: 'A test' } as const
    const Thing = v.object({ on: v.boolean(), at: v.nullable(v.string()) })
    const reply = Thing
    endpoint({ ...common, route: 'GET /a', reply, handle: async (_e) => ok({ on: true, at: null }) })
    // @ts-expect-error a property is missing
    endpoint({ ...common, route: 'GET /a', reply, handle: async (_e) => ok({ on: true }) })
    // @ts-expect-error a property has another type
    endpoint({ ...common, route: 'GET /a', reply, handle: async (_e) => ok({ on: 1, at: null }) })
    // @ts-expect-error a property is too many
    endpoint({ ...common, route: 'GET /a', reply, handle: async (_e) => ok({ on: true, at: null, more: 1 }) })
    // @ts-expect-error a reply is declared
    endpoint({ ...common, route: 'GET /a', reply, handle: async (_e) => noContent() })
    // @ts-expect-error no reply is declared
    endpoint({ ...common, route: 'GET /a', handle: async (_e) => ok({ on: true, at: null }) })
    expect(v.is(Thing, { on: true, at: null })).toBe(true)
  })
})
