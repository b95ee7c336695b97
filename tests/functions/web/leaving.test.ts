import { afterAll, beforeAll, expect, it } from 'vitest'
import { mintSession } from '#tests/support/minted-session.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

const BASE = '/s/acme-print'

it('lets a person whose role has no page leave the shop from its overview, after a question', async () => {
  const person = await web.signedIn('viewer@acme.test', 'acme-print')
  expect(person.page.body).toContain(`href="${BASE}/leave"`)
  expect((await person.open(`${BASE}/leave`)).body).toContain('<h1>Leave Acme Print?</h1>')
  await person.submit(`${BASE}/leave`)
  expect(person.page.body).toContain('You left Acme Print. Sign in to work in another shop.')
  const owner = await web.signedIn('owner@acme.test', 'acme-print')
  expect((await owner.open(`${BASE}/audit-log`)).body).toMatch(
    /Viewer Acme<\/a> left the shop\.|Viewer Acme left the shop\./,
  )
})

it('tells the last owner in both languages why they cannot leave, and where to make somebody else an owner', async () => {
  const owner = await web.signedIn('owner@acme.test', 'acme-print')
  await web.service.sql`
    update app.memberships set role_id = 2 where role_id = 1 and tenant_id = (select id from app.tenants where slug = 'acme-print')
       and user_id <> (select id from app.users where email = 'owner@acme.test')`
  await owner.open(`${BASE}/leave`)
  expect(owner.page.body).toContain(`make somebody else an owner first: <a href="${BASE}/members">`)
  await owner.submit(`${BASE}/leave`)
  expect(owner.page.status).toBe(422)
  expect(owner.page.body).toContain('A shop needs at least one owner. Make somebody else an owner first.')
  await owner.submit('/language', { lang: 'es', next: `${BASE}/leave` })
  await owner.submit(`${BASE}/leave`)
  expect(owner.page.body).toContain('<h1>¿Dejar Acme Print?</h1>')
  expect(owner.page.body).toContain('una tienda necesita al menos un propietario'.slice(3))
})

it('ends the sessions of a member for somebody who manages members, after a question', async () => {
  const sales = await web.signedIn('sales@acme.test', 'acme-print')
  const [member] = await web.service.sql`
    select m.id from app.memberships m join app.users u on u.id = m.user_id join app.tenants t on t.id = m.tenant_id
     where u.email = 'sales@acme.test' and t.slug = 'acme-print'`
  await mintSession(web.service.sql, { email: 'sales@acme.test', slug: 'acme-print' })
  const admin = await web.signedIn('admin@acme.test', 'acme-print')
  const to = `${BASE}/members/${member?.['id']}/sessions`
  expect((await admin.open(`${BASE}/members`)).body).toContain(`href="${to}"`)
  await admin.open(to)
  await admin.submit(to)
  expect(admin.page.body).toContain('The sessions of Sales Acme were ended.')
  expect((await sales.open(BASE)).body).toContain('Your session has ended.')
  expect((await admin.open(`${BASE}/audit-log`)).body).toContain('ended the sessions of')
})

it('asks who has not stepped up for a while to confirm before they leave, or end the sessions of a member', async () => {
  const age = (email: string) => web.service.sql`
    update app.sessions set stepped_up_at = now() - interval '1 hour'
     where user_id = (select id from app.users where email = ${email})`
  const [member] = await web.service.sql`
    select m.id from app.memberships m join app.users u on u.id = m.user_id join app.tenants t on t.id = m.tenant_id
     where u.email = 'sales@acme.test' and t.slug = 'acme-print'`
  const admin = await web.signedIn('admin@acme.test', 'acme-print')
  await mintSession(web.service.sql, { email: 'sales@acme.test', slug: 'acme-print' })
  for (const [path, done] of [
    [`${BASE}/members/${member?.['id']}/sessions`, 'The sessions of Sales Acme were ended.'],
    [`${BASE}/leave`, 'You left Acme Print.'],
  ] as const) {
    await age('admin@acme.test')
    expect((await admin.open(path)).body).toContain('name="proof_password"')
    await admin.submit(path)
    expect(admin.page.status).toBe(422)
    await admin.submit(path, { proof_password: PASSWORD })
    expect(admin.page.body).toContain(done)
  }
  expect((await admin.open('/shops')).body).toContain('Sign in')
})
