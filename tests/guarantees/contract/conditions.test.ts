import { describe, expect, it } from 'vitest'
import type { TestTenant } from '#tests/support/minted-session.ts'
import { authorizationFor } from '#tests/support/authorization.ts'
import { expectProblem } from '#tests/support/expect-answer.ts'
import { mintKey } from '#tests/support/minted-key.ts'
import { type Ids, type Route, routes, withId, withUnknownId } from '#tests/support/routes.ts'
import { makeResource, sampleBody, sampleQuery } from '#tests/support/samples.ts'
import { mintServiceKey } from '#tests/support/service-key.ts'
import { useService } from '#tests/support/test.ts'
import { rawRequest } from '#tests/support/raw-http.ts'

const isRead = ({ endpoint }: Route) => endpoint.method === 'GET'
const reads = routes.filter((route) => route.endpoint.etag && isRead(route))
const writes = routes.filter((route) => route.endpoint.etag && !isRead(route))
const others = routes.filter((route) => !route.endpoint.etag)
const otherWrites = routes.filter((route) => !isRead(route))

const service = useService()

/** Returns the read of the resource that a write changes. */
function readOf({ name, endpoint }: Route): Route {
  const read = reads.find((each) => endpoint.path.startsWith(each.endpoint.path))
  if (read === undefined) throw new Error(`${name} has an ETag, and no GET returns it`)
  return read
}

interface Setting {
  readonly tenant: TestTenant<'owner'>
  readonly ids: Ids
}

async function prepare({ endpoint: { path } }: Route): Promise<Setting> {
  const tenant = await service.newTenant('owner')
  const ids = path.includes('{') ? await makeResource(service, path, tenant.slug) : { id: '' }
  return { tenant, ids }
}

const send = (route: Route, { tenant, ids }: Setting, ifMatch?: string) =>
  service.request(`${route.endpoint.method} ${withId(route.endpoint.path, ids)}`, {
    token: tenant.owner.token,
    body: sampleBody(route, ids),
    headers: ifMatch === undefined ? {} : { 'if-match': ifMatch },
  })

const etagOf = async (route: Route, setting: Setting): Promise<string> =>
  (await send(readOf(route), setting)).headers.get('etag') ?? ''

describe('If-Match', () => {
  it('finds resources that people edit', () => {
    const edited = ['deals', 'price-breaks', 'designs', 'roles', 'members', 'tenant']
    for (const part of edited) expect(writes.map(({ name }) => name).join(), part).toContain(`/v1/${part}`)
  })

  it.each(writes)('$name changes nothing unless a strong ETag of the list is the current one', async (route) => {
    const setting = await prepare(route)
    const current = await etagOf(route, setting)
    const before = await send(readOf(route), setting)
    const audited = async () =>
      service.sql`select count(*)::int as count from app.audit_log where tenant_id = ${setting.tenant.id}`
    const entries = await audited()
    const stale = ['"x"', `W/${current}`, current.slice(1, -1), `${current}x`, `"x, ${current.slice(1)}`, '*, "x"', '']
    for (const ifMatch of stale) expectProblem(await send(route, setting, ifMatch), 'precondition-failed', ifMatch)
    expect(await audited()).toEqual(entries)
    expect((await send(readOf(route), setting)).text).toBe(before.text)
    expect((await send(route, setting, `"a,b" , W/"c",, ${current}`)).status).toBe(200)
  })

  it.each(writes)('$name returns the ETag that a GET returns afterwards', async (route) => {
    const setting = await prepare(route)
    const written = await send(route, setting, '*')
    expect(written.status).toBe(200)
    const read = await send(readOf(route), setting)
    if (read.status === 404) expect(route.endpoint.method).toBe('DELETE')
    else expect(read.headers.get('etag')).toBe(written.headers.get('etag'))
  })

  it.each(reads)('$name returns the resource only with its current ETag', async (route) => {
    const setting = await prepare(route)
    const current = await etagOf(route, setting)
    expect((await send(route, setting, current)).status).toBe(200)
    expectProblem(await send(route, setting, '"x"'), 'precondition-failed')
  })

  it('lets one of several concurrent writes of the same version pass', async () => {
    for (const route of writes.filter(({ name }) => name === 'PUT /v1/deals/{id}/lines')) {
      const setting = await prepare(route)
      const current = await etagOf(route, setting)
      const answers = await Promise.all([1, 2, 3, 4].map(() => send(route, setting, current)))
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412, 412, 412])
    }
  })

  it('reads several header fields as one list', async () => {
    for (const route of reads.filter(({ name }) => name === 'GET /v1/tenant')) {
      const setting = await prepare(route)
      const current = await etagOf(route, setting)
      const authorization = ['authorization', `Bearer ${setting.tenant.owner.token}`]
      const get = (...headers: string[]) =>
        rawRequest(service.gateway.url, { method: 'GET', path: '/v1/tenant', headers: [...authorization, ...headers] })
      expect((await get('if-match', current, 'if-match', '"x"')).status).toBe(200)
      expect((await get('if-match', '"y"', 'if-match', '"x"')).status).toBe(412)
    }
  })
})

describe('a condition that a route does not take', () => {
  const refused = async (route: Route, condition: Readonly<Record<string, string>>) => {
    const { endpoint } = route
    const { owner, id: tenant } = await service.newTenant('owner')
    const authorization = authorizationFor(route, {
      token: owner.token,
      key: await mintServiceKey(service.sql),
      apiKey: await mintKey(service.sql, { tenant }),
    })
    const answer = await service.request(`${endpoint.method} ${withUnknownId(endpoint.path)}${sampleQuery(route)}`, {
      body: sampleBody(route),
      headers: { authorization, ...condition },
    })
    expectProblem(answer, 'precondition-failed')
  }

  it.each(others)('$name answers If-Match with 412', async (route) => {
    for (const ifMatch of ['*', '"x"']) await refused(route, { 'if-match': ifMatch })
  })

  it.each(otherWrites)('$name answers If-None-Match with 412', async (route) => {
    for (const ifNoneMatch of ['*', 'W/"x"']) await refused(route, { 'if-none-match': ifNoneMatch })
  })
})
