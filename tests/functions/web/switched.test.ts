import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Send } from '#shared/client/client.ts'
import { COOKIES } from '#web/http/cookies.ts'
import { type Browser, startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
let first: { id: string; slug: string }
let second: { id: string; slug: string }
let token: string
let browser: Browser

beforeAll(async () => {
  web = await startWeb()
  const tenant = await web.service.newTenant('owner')
  first = tenant
  second = await web.service.newTenant('owner')
  token = tenant.owner.token
  await web.service.sql`
    insert into app.memberships (tenant_id, user_id, role_id, accepted_at) values (${second.id}, ${tenant.owner.userId}, 1, now())`
  browser = web.browser()
  browser.cookies.set(COOKIES.session.name, token)
  await browser.open(`/s/${first.slug}`)
})
afterAll(() => web.close())

const select = (id: string) => web.service.request(`POST /v1/auth/tenants/${id}/select`, { token })

/** Another tab selects the second shop after the first response of the API. */
async function switching<T>(work: () => Promise<T>): Promise<T> {
  await select(first.id)
  let calls = 0
  const send: Send = async ({ method, path, params, query, headers, body }) => {
    const target = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
    const response = await fetch(`${web.service.gateway.url}${target}?${query.toString()}`, {
      method,
      headers,
      ...(body === null ? {} : { body }),
    })
    if ((calls += 1) === 1) await select(second.id)
    return response
  }
  web.breakApi(send)
  return work().finally(() => web.breakApi(null))
}

it('shows no page of a shop with entries of another, when another tab selects it in between', async () => {
  await select(second.id)
  await web.service.request('POST /v1/members/invite', {
    token,
    body: { email: 'only-in-second@shops.test', role: 'sales' },
  })
  const answer = await switching(() => browser.request(`/s/${first.slug}/audit-log?from=2020-01-01`))
  expect([answer.status, answer.body.includes('only-in-second')]).toEqual([303, false])
})

it('sends no form of a shop to another, when another tab selects it in between', async () => {
  await select(first.id)
  await browser.open(`/s/${first.slug}/invitations`)
  const to = `/s/${first.slug}/invitations`
  const fields = { ...browser.hidden(to), email: 'for-first@shops.test', role: 'sales' }
  const answer = await switching(() => browser.post(to, fields))
  const rows = await web.service
    .sql`select t.slug from app.tokens i join app.tenants t on t.id = i.tenant_id where i.email = 'for-first@shops.test'`
  expect([answer.location, rows.map(({ slug }) => slug)]).toEqual([`/shops?next=${encodeURIComponent(to)}`, []])
})

it('shows the shop of the session that the read itself had', async () => {
  const answer = await switching(() => browser.request(`/s/${first.slug}/members`))
  expect([answer.status, answer.body.includes(second.slug)]).toEqual([200, false])
})
