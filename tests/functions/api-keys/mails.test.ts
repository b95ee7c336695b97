import { afterAll, beforeAll, expect, it } from 'vitest'
import { maintain } from '#functions/workers/maintain/maintain.ts'
import { mintKey } from '#tests/support/minted-key.ts'
import { startService, type TestService } from '#tests/support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const mailed = (id: string) => service.sql<{ reason: string; email: string }[]>`
  select j.payload ->> 'reason' as reason, u.email from app.jobs j join app.users u on u.id = (j.payload ->> 'user_id')::uuid
   where j.payload ->> 'api_key_id' = ${id} order by j.created_at, u.email`
const warn = () => maintain(service.worker.database.sql, () => false)
const expire = (id: string, interval: string) =>
  service.sql.unsafe(
    `update app.api_keys set created_at = now() - interval '60 days', expires_at = now() + interval '${interval}' where id = '${id}'`,
  )

it('tells the owners and who made a key what it may do and until when, without the key or its hint', async () => {
  const { slug, owner, admin } = await service.newTenant('owner', 'admin')
  const body = { name: 'Nightly export', permissions: ['deal.read'] }
  const made = await service.request('POST /v1/api-keys', { token: admin.token, body })
  const to = [`admin@${slug}.test`, `founder@${slug}.test`, `owner@${slug}.test`]
  expect((await mailed(made.body.id)).map(({ email }) => email).toSorted()).toEqual(to)
  expect(await service.mail.deliver()).toBe(3)
  const [mail] = service.mail.to(`owner@${slug}.test`)
  expect(mail?.text).toContain(`admin@${slug}.test created the API key Nightly export`)
  expect(mail?.text).toContain('see deals')
  expect(mail?.text).toContain(`/s/${slug}/api-keys`)
  expect(mail?.text).not.toContain(made.body.key.slice(-6))
  expect(owner.userId).not.toBe('')
})

it('warns who made a key 14 and 3 days before it expires, each once, and the owners when that person left', async () => {
  const { id: tenant, slug } = await service.newTenant('owner')
  const { id } = await mintKey(service.sql, { tenant })
  const reasons = async () => (await mailed(id)).map(({ reason }) => reason)
  await expire(id, '15 days')
  await warn()
  expect(await reasons()).toEqual([])
  await expire(id, '14 days')
  await warn()
  await warn()
  expect(await reasons()).toEqual(['expires-14'])
  await service.sql`
    update app.memberships set revoked_at = now()
     where tenant_id = ${tenant} and user_id = (select created_by from app.api_keys where id = ${id})`
  await expire(id, '3 days')
  await warn()
  await warn()
  const last = (await mailed(id)).at(-1)
  expect(await reasons()).toEqual(['expires-14', 'expires-3'])
  expect(['owner', 'founder'].map((name) => `${name}@${slug}.test`)).toContain(last?.email)
  expect(await service.mail.deliver()).toBe(1)
})

it('warns of no revoked key, and of none that was made for a shorter time', async () => {
  const { id: tenant } = await service.newTenant('owner')
  const [revoked, short] = [await mintKey(service.sql, { tenant }), await mintKey(service.sql, { tenant })]
  await expire(revoked.id, '2 days')
  await service.sql`update app.api_keys set revoked_at = now() where id = ${revoked.id}`
  await service.sql`update app.api_keys set expires_at = now() + interval '2 days' where id = ${short.id}`
  await warn()
  expect([...(await mailed(revoked.id)), ...(await mailed(short.id))]).toEqual([])
})
