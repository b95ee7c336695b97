import { afterAll, beforeAll, expect, it } from 'vitest'
import { COOKIES } from '#web/http/cookies.ts'
import { newFactorUser } from '#tests/support/factor.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

const BASE = '/s/acme-print'

async function lostPhone() {
  const user = await newFactorUser(web.service)
  const [member] = await web.service.sql`
    update app.memberships set role_id = 7 where user_id = ${user.id} returning id`
  return { ...user, page: `${BASE}/members/${member?.['id']}/factor-reset` }
}
const resets = async ({ id }: { id: string }) => [
  ...(await web.service.sql`select cancelled_at is not null as cancelled from app.factor_resets where user_id = ${id}`),
]

it('lets a manager report a lost phone after a question, with a proof of presence, and mails the person a link that cancels it', async () => {
  const user = await lostPhone()
  const admin = await web.signedIn('admin@acme.test', 'acme-print')
  expect((await admin.open(`${BASE}/members`)).body).toContain(`href="${user.page}"`)
  expect((await admin.open(user.page)).body).toContain('the people who run the platform must confirm it')
  await web.service.sql`
    update app.sessions set stepped_up_at = now() - interval '1 hour'
     where user_id = (select id from app.users where email = 'admin@acme.test')`
  await admin.open(user.page)
  await admin.submit(user.page)
  expect(admin.page.status).toBe(422)
  expect(await resets(user)).toEqual([])
  await admin.submit(user.page, { proof_password: PASSWORD })
  expect(admin.page.body).toContain('an email that says what happens when')
  expect(await resets(user)).toEqual([{ cancelled: false }])
  const owner = web.browser()
  owner.cookies.set(COOKIES.session.name, user.token)
  expect((await owner.open('/account/second-factor')).body).toContain('Somebody asked to remove your second step')
  const person = web.browser()
  const token = await web.service.mail.tokenFor(user.email)
  await person.open(`/cancel-reset?token=${token}`)
  expect(person.page.body).toContain(`Keep the second step of ${user.email}?`)
  expect(await resets(user)).toEqual([{ cancelled: false }])
  await person.submit('/cancel-reset')
  expect(person.page.body).toContain('The second step stays.')
  expect(await resets(user)).toEqual([{ cancelled: true }])
  expect((await person.open(`/cancel-reset?token=${token}`)).status).toBe(422)
  expect(person.page.body).toContain('this link does nothing any more')
})

it('speaks Spanish to a manager, and says that a member has no second step', async () => {
  const [member] = await web.service.sql`
    select m.id from app.memberships m join app.users u on u.id = m.user_id join app.tenants t on t.id = m.tenant_id
     where u.email = 'sales@acme.test' and t.slug = 'acme-print'`
  const page = `${BASE}/members/${member?.['id']}/factor-reset`
  const admin = await web.signedIn('admin@acme.test', 'acme-print')
  await admin.open(page)
  await admin.submit('/language', { lang: 'es', next: page })
  expect((await admin.open(page)).body).toContain('¿Perdió Sales Acme su teléfono?')
  await admin.submit(page)
  expect(admin.page.body).toContain('Esta persona no tiene un segundo paso.')
})

it('tells who has neither phone nor recovery code whom to ask', async () => {
  const user = await newFactorUser(web.service)
  const browser = web.browser()
  await browser.open('/sign-in')
  await browser.submit('/sign-in', { email: user.email, password: PASSWORD })
  expect((await browser.open('/sign-in/recovery-code')).body).toContain(
    'No phone, no passkey and no recovery code? Ask an owner or an admin',
  )
})
