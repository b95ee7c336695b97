import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COOKIES } from '#web/http/cookies.ts'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb({ env: { INVITE_RESEND_SECONDS: '0' } })
})
afterAll(() => web.close())

const BASE = '/s/acme-print'

async function memberId(email: string): Promise<string> {
  const [row] = await web.service.sql<{ id: string }[]>`
    select m.id from app.memberships m join app.users u on u.id = m.user_id join app.tenants t on t.id = m.tenant_id
     where u.email = ${email} and t.slug = 'acme-print'`
  return row?.id ?? ''
}

describe('the members page', () => {
  it('finds members by name, address and status', async () => {
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    await owner.open(`${BASE}/members?q=designer&status=`)
    expect(owner.page.body).toContain('designer@acme.test')
    expect(owner.page.body).not.toContain('sales@acme.test')
    await owner.open(`${BASE}/members?status=revoked`)
    expect(owner.page.body).toContain('Nobody found')
  })

  it('shows 514 members by name, with their number, the previous and the next page, and a filter by role', async () => {
    const { slug, owner } = await web.service.newTenant('owner', 'designer')
    await web.service.sql`
      with people as (
        insert into app.users (email, full_name)
        select 'crowd' || n || '@' || ${slug}::text || '.test', (array['García, Ann ', 'Zoë O''Hara '])[1 + n % 2] || n from generate_series(1, 511) n
        returning id)
      insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
      select t.id, p.id, 7, now() from app.tenants t, people p where t.slug = ${slug}`
    const browser = web.browser()
    browser.cookies.set(COOKIES.session.name, owner.token)
    const base = `/s/${slug}/members`
    const linkTo = (label: string) =>
      (new RegExp(`<a href="([^"]*)">${label}</a>`).exec(browser.page.body)?.[1] ?? '').replaceAll('&amp;', '&')
    await browser.open(base)
    expect(browser.page.body).toContain('1–50 of 514')
    const first = browser.page.body
    await browser.open(linkTo('Next page'))
    expect(browser.page.body).toContain('51–100 of 514')
    await browser.open(linkTo('Next page'))
    expect(browser.page.body).toContain('101–150 of 514')
    await browser.open(linkTo('Previous page'))
    expect(browser.page.body).toContain('51–100 of 514')
    await browser.open(linkTo('Previous page'))
    expect(browser.page.body.match(/<th scope="row">[^<]*/g)).toEqual(first.match(/<th scope="row">[^<]*/g))
    for (const q of ['ann garcia', 'Garcia, Ann', 'GARCÍA'])
      expect((await browser.open(`${base}?q=${encodeURIComponent(q)}`)).body, q).toMatch(/1–50 of 25[56]/)
    await browser.open(`${base}?q=ohara&role=viewer`)
    await browser.open(linkTo('Next page'))
    expect(browser.page.body).toMatch(/51–100 of 25[56]/)
    expect((await browser.open(`${base}?role=designer`)).body).toContain('1–1 of 1')
    expect((await browser.open(`${base}?q=nobody`)).body).toContain(`<a href="${base}">Show all members</a>`)
  })

  it('has an invited person among the invitations alone, and invites a removed one again', async () => {
    const { slug, owner } = await web.service.newTenant('owner', 'sales')
    const browser = web.browser()
    browser.cookies.set(COOKIES.session.name, owner.token)
    await browser.open(`/s/${slug}/invitations`)
    await browser.submit(`/s/${slug}/invitations`, { email: `waits@${slug}.test`, role: 'viewer' })
    expect(browser.page.body.match(new RegExp(`<th scope="row">waits@${slug}.test`, 'g'))).toHaveLength(1)
    await browser.open(`/s/${slug}/members`)
    expect(browser.page.body).not.toContain('waits@')
    const [, remove = ''] =
      /href="([^"]*\/remove)">Remove<span class="unseen"> [^<]*sales/.exec(browser.page.body) ?? []
    await browser.open(remove)
    await browser.submit(remove)
    await browser.open(`/s/${slug}/members?status=revoked`)
    const [, again = ''] = /href="([^"]*)">Invite again/.exec(browser.page.body) ?? []
    expect((await browser.open(again.replaceAll('&amp;', '&'))).body).toContain(`\nsales@${slug}.test</textarea>`)
  })

  it('changes a role, which the next click of that person obeys', async () => {
    const [owner, sales] = [
      await web.signedIn('owner@acme.test', 'acme-print'),
      await web.signedIn('sales@acme.test', 'acme-print'),
    ]
    expect((await sales.open(`${BASE}/members`)).status).toBe(403)
    await owner.open(`${BASE}/members`)
    const id = await memberId('sales@acme.test')
    await owner.open(`${BASE}/members/${id}/role`)
    expect(owner.page.body).toMatch(/value="sales" checked>[^]*Sales[^]*May see the catalog/)
    await owner.submit(`${BASE}/members/${id}/role`, { role: 'admin' })
    expect(owner.page.body).toContain('Sales Acme is now Admin. It applies from their next click.')
    expect((await sales.open(`${BASE}/members`)).status).toBe(200)
  })

  it('shows roles up to the rank of the person only, and no way to change those above', async () => {
    const admin = await web.signedIn('admin@acme.test', 'acme-print')
    await admin.open(`${BASE}/members/${await memberId('viewer@acme.test')}/role`)
    expect(admin.page.body).toContain('value="admin"')
    expect(admin.page.body).not.toContain('value="owner"')
    await admin.open(`${BASE}/members`)
    const id = await memberId('owner@acme.test')
    expect(admin.page.body).not.toContain(`/members/${id}/role`)
    const csrf = admin.hidden('/sign-out')
    expect((await admin.post(`${BASE}/members/${id}/role`, { ...csrf, role: 'viewer' })).status).toBe(403)
  })

  it('keeps the last owner, and says so above the form', async () => {
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    const role = `${BASE}/members/${await memberId('owner@acme.test')}/role`
    await owner.open(role)
    await owner.submit(role, { role: 'viewer' })
    await owner.submit(role, { role: 'viewer' })
    expect(owner.page.status).toBe(422)
    expect(owner.page.body).toContain('A shop needs at least one owner.')
    expect(owner.page.body).toContain('<title>Error: Your own role')
  })

  it('asks a person who changes their own role, says what they lose, and leads to the start page', async () => {
    const admin = await web.signedIn('admin@acme.test', 'acme-print')
    await admin.open(`${BASE}/members`)
    expect(admin.page.body).toMatch(/Admin Acme <span class="badge good">You<\/span>/)
    const role = `${BASE}/members/${await memberId('admin@acme.test')}/role`
    await admin.open(role)
    await admin.submit(role, { role: 'viewer' })
    expect(admin.page.body).toContain('<h1>Change your own role to Viewer?</h1>')
    expect(admin.page.body).toContain('<li>manage members</li>')
    expect(admin.page.body).not.toContain('<li>see the catalog</li>')
    expect((await admin.request(`${BASE}/members`)).status).toBe(200)
    await admin.submit(role, { role: 'viewer' })
    expect(admin.page.status).toBe(200)
    expect(admin.page.body).toContain('Your own role is now Viewer.')
    expect(admin.page.body).toContain('<h1>Acme Print</h1>')
    await web.service.sql`update app.memberships set role_id = 2 where id = ${await memberId('admin@acme.test')}`
  })

  it('lets a person leave the shop, and says that they left it', async () => {
    const member = await web.service.newTenant('owner', 'admin')
    const admin = web.browser()
    admin.cookies.set(COOKIES.session.name, member.admin.token)
    await admin.open(`/s/${member.slug}/members`)
    const [, leave = ''] = /href="([^"]*\/leave)">Leave the shop/.exec(admin.page.body) ?? []
    await admin.open(leave)
    expect(admin.page.body).toMatch(/<h1>Leave [^<]*\?<\/h1>/)
    await admin.submit(leave)
    expect(admin.page.body).toMatch(/You left [^<]*\. Sign in to work in another shop\./)
    expect(admin.cookies.has(COOKIES.session.name)).toBe(false)
  })

  it('asks before it removes somebody, and ends their session', async () => {
    const [owner, viewer] = [
      await web.signedIn('owner@acme.test', 'acme-print'),
      await web.signedIn('viewer@acme.test', 'acme-print'),
    ]
    const id = await memberId('viewer@acme.test')
    await owner.open(`${BASE}/members/${id}/remove`)
    expect(owner.page.body).toContain('will lose access to Acme Print immediately')
    expect((await viewer.open(BASE)).status).toBe(200)
    await owner.submit(`${BASE}/members/${id}/remove`)
    expect(owner.page.body).toContain('Viewer Acme was removed from the shop.')
    await viewer.open(BASE)
    expect(viewer.page.body).toContain('<h1>Sign in</h1>')
    expect((await owner.open(`${BASE}/members/${crypto.randomUUID()}/remove`)).status).toBe(404)
  })
})

describe('the invitations page', () => {
  it('invites, sends again and cancels', async () => {
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    await owner.open(`${BASE}/invitations`)
    await owner.submit(`${BASE}/invitations`, { email: 'newcomer@shops.test', role: 'sales' })
    const onItsWay = 'The invitation of newcomer@shops.test as Sales is on its way.'
    expect(owner.page.body).toContain(onItsWay)
    const [, resend = ''] = /action="([^"]*\/resend)"/.exec(owner.page.body) ?? []
    await owner.submit(resend)
    expect(owner.page.body).toContain(onItsWay)
    await owner.submit(resend.replace(/resend$/, 'cancel'))
    expect(owner.page.body).toContain('The invitation of newcomer@shops.test was cancelled.')
    expect(owner.page.body).toContain('No open invitations')
  })

  it('invites what people paste, and says of each address what became of it', async () => {
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    await owner.open(`${BASE}/invitations`)
    expect(owner.page.body).toMatch(/value="viewer" checked>[^]*Viewer[^]*May see the catalog/)
    const pasted =
      'Ann Archer <ann@paste.test>, "Roe, Bob" <bob@paste.test>; ann@PASTE.test\r\nno address, admin@acme.test'
    await owner.submit(`${BASE}/invitations`, { email: pasted, role: 'sales' })
    expect(owner.page.status).toBe(422)
    const { body } = owner.page
    expect(body).toContain('The invitation of ann@paste.test as Sales is on its way.')
    expect(body).toContain('The invitation of bob@paste.test as Sales is on its way.')
    expect(body).toMatch(/no address: Enter an email address/)
    expect(body).toContain('admin@acme.test: This person is a member of the shop already.')
    expect(body).toMatch(/<textarea id="field-email"[^>]*>\nno address\nadmin@acme.test<\/textarea>/)
    await owner.submit(`${BASE}/invitations`, { email: 'ann@paste.test carl@paste.test', role: 'designer' })
    expect(owner.page.status).toBe(200)
    expect(owner.page.body).toContain(
      'The invitation of ann@paste.test (before: Sales) and carl@paste.test as Designer is on its way.',
    )
    const sent = await web.service
      .sql`select email, role_id from app.tokens where email collate "C" like '%@paste.test' order by email`
    expect(sent).toHaveLength(3)
  })

  it('sends each of several invitations once after a double press, and none of more than 20', async () => {
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    await owner.open(`${BASE}/invitations`)
    const fields = { ...owner.hidden(`${BASE}/invitations`), email: 'a@twice.test, b@twice.test', role: 'viewer' }
    for (const _ of [1, 2]) expect((await owner.post(`${BASE}/invitations`, fields)).status).toBe(303)
    const count = async () =>
      Number(
        (
          await web.service
            .sql`select count(*) from app.audit_log where action = 'invitation.created' and after->>'email' like '%@twice.test'`
        )[0]?.['count'],
      )
    expect(await count()).toBe(2)
    await owner.open(`${BASE}/invitations`)
    const many = Array.from({ length: 21 }, (_, index) => `p${index}@twice.test`).join(';')
    await owner.submit(`${BASE}/invitations`, { email: many, role: 'viewer' })
    expect(owner.page.status).toBe(422)
    expect(owner.page.body).toContain('These are 21 addresses. Invite at most 20 at a time.')
    expect(await count()).toBe(2)
  })

  it('changes the role of an invited person in words for an invited person', async () => {
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    await owner.open(`${BASE}/invitations`)
    await owner.submit(`${BASE}/invitations`, { email: 'waits@shops.test', role: 'sales' })
    const [, role = ''] =
      /href="([^"]*\/role)">Change role<span class="unseen"> waits@shops.test/.exec(owner.page.body) ?? []
    await owner.open(role)
    await owner.submit(role, { role: 'designer' })
    expect(owner.page.body).toContain('waits@shops.test is now invited as Designer.')
  })

  it('says what to do about an invitation that came back, and offers no mail that is never sent', async () => {
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    await owner.open(`${BASE}/invitations`)
    await owner.submit(`${BASE}/invitations`, { email: 'misspelt@shops.test', role: 'sales' })
    const [row] = await web.service.sql`
      update app.tokens set bounced_at = now() where email = 'misspelt@shops.test' returning id`
    const resend = `${BASE}/invitations/${row?.['id']}/resend`
    await owner.open(`${BASE}/invitations`)
    expect(owner.page.body).toContain('This address did not accept our mail.')
    expect(owner.page.body).not.toContain(resend)
    expect(owner.page.body).toContain(resend.replace(/resend$/, 'cancel'))
  })

  it('shows a refusal at its field, and keeps what was typed', async () => {
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    await owner.open(`${BASE}/invitations`)
    for (const [email, message] of [
      ['admin@acme.test', 'This person is a member of the shop already.'],
      ['no address', 'Enter an email address'],
    ] as const) {
      await owner.submit(`${BASE}/invitations`, { email, role: 'sales' })
      expect(owner.page.status).toBe(422)
      expect(owner.page.body).toMatch(new RegExp(`id="field-email-error">.*${message}`))
      expect(owner.page.body).toContain(`\n${email}</textarea>`)
      expect(owner.page.body).toContain('value="sales" checked>')
    }
  })
})

describe('the roles page', () => {
  it('adds a role of the shop, changes it and deletes it', async () => {
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    await owner.open(`${BASE}/roles/new?based_on=production`)
    const role = { label: 'Night shift', code: 'night-shift' }
    await owner.submit(`${BASE}/roles`, { ...role, 'add-deal.price.read': 'yes' })
    expect(owner.page.body).toContain('The role Night shift was added.')
    const [, edit = ''] =
      new RegExp(`href="(${BASE}/roles/\\d+)">Night shift</a> <span class="quiet">Based on Production`).exec(
        owner.page.body,
      ) ?? []
    await owner.open(edit)
    expect(owner.page.body).toContain('name="add-deal.price.read" value="yes" checked')
    await owner.submit(edit, { label: 'Late shift' })
    expect(owner.page.body).toContain('Late shift')
    await owner.open(`${BASE}/roles/new`)
    await owner.submit(`${BASE}/roles`, { label: 'Other', code: 'night-shift' })
    expect(owner.page.body).toMatch(/id="field-code-error">.*The shop has a role of this code already/)
    for (const label of ['LATE shift', 'Administrador']) {
      await owner.submit(`${BASE}/roles`, { label, code: 'other' })
      expect(owner.page.body).toMatch(/id="field-label-error">.*A role of this name exists already/)
    }
    await owner.open(edit)
    await owner.submit(`${edit}/delete`)
    expect(owner.page.body).toContain('The role Late shift was deleted.')
    expect((await owner.open(edit)).status).toBe(404)
  })

  it('bases a new role on the one that may do the least, never on the owner, and adds only what the base lacks', async () => {
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    await owner.open(`${BASE}/roles/new`)
    expect(owner.hidden(`${BASE}/roles`)['based_on']).toBe('viewer')
    expect(owner.page.body).toContain('name="add-deal.write"')
    expect(owner.page.body).not.toMatch(/name="add-deal.read"|<option value="owner"/)
    await owner.open(`${BASE}/roles/new?based_on=sales`)
    expect(owner.hidden(`${BASE}/roles`)['based_on']).toBe('sales')
    expect(owner.page.body).not.toContain('name="add-deal.write"')
    await owner.open(`${BASE}/roles/new?based_on=owner`)
    expect(owner.hidden(`${BASE}/roles`)['based_on']).toBe('viewer')
  })

  it('has a table of who may what, with the names of roles in the language of the person', async () => {
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    const rowOf = (name: string) =>
      new RegExp(`<th scope="row">${name}</th>(.*?)</tr>`, 's').exec(owner.page.body)?.[1] ?? ''
    await owner.open(`${BASE}/roles`)
    expect(owner.page.body).toMatch(/<th scope="col">Owner<\/th><th scope="col">Admin<\/th>/)
    expect(rowOf('manage members')).toMatch(/class="yes" data-label="Admin".*Yes.*class="no" data-label="Viewer".*No/s)
    await owner.submit('/language', { lang: 'es' })
    expect(owner.page.body).toMatch(/<th scope="col">Propietario<\/th><th scope="col">Administrador<\/th>/)
    expect((await owner.open(`${BASE}/members?role=viewer`)).body).toMatch(
      /<td data-label="Rol">(Lector|Ventas)|No se encontró/,
    )
    await owner.submit('/language', { lang: 'en' })
  })
})

const CAREFUL = 'Careful: whoever has this role can invite people,'
const TO_YOU = 'They can also do this to you.'
/** The choices of a form, each with what stands below it. */
const choices = (body: string): Map<string, string> =>
  new Map(
    [...body.matchAll(/value="([a-z-]+)"[^>]*> <span>(.*?)<\/span><\/label>/gs)].map(([, value = '', text = '']) => [
      value,
      text,
    ]),
  )

describe('a role that manages members', () => {
  it('is offered with what such a person can do, where people are invited and where a role is changed', async () => {
    const admin = await web.signedIn('admin@acme.test', 'acme-print')
    const base = '/s/acme-print'
    const owner = await web.service.signIn('owner@acme.test', 'acme-print')
    const lead = { code: 'lead', label: 'Lead', based_on: 'production', add: ['member.manage'] }
    await web.service.request('POST /v1/roles', { token: owner, body: lead })
    for (const page of [`${base}/invitations`, `${base}/members/${await memberId('sales@acme.test')}/role`]) {
      const offered = choices((await admin.open(page)).body)
      expect(offered.get('admin'), page).toContain(CAREFUL)
      expect(offered.get('admin'), page).toContain(TO_YOU)
      expect(offered.get('lead'), page).toContain(CAREFUL)
      expect(offered.get('lead'), page).not.toContain(TO_YOU)
      for (const role of ['sales', 'viewer']) expect(offered.get(role), page).not.toContain('Careful')
    }
  })

  it('is announced where a role of the shop is made and changed, in both languages', async () => {
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    const at = '/s/acme-print/roles/new'
    const { body } = await owner.open(`${at}?based_on=viewer`)
    expect(body).toMatch(/name="add-member\.manage"[^>]*> <span>manage members <span class="careful">Careful:/)
    expect(body).not.toContain('<p class="prose careful">')
    expect((await owner.open(`${at}?based_on=admin`)).body).toContain(`<p class="prose careful">${CAREFUL}`)
    await owner.submit('/language', { lang: 'es' })
    expect((await owner.open(`${at}?based_on=admin`)).body).toContain(
      '<p class="prose careful">Cuidado: quien tiene este rol',
    )
  })
})
