import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createUser } from '#tests/support/minted-session.ts'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
  await web.service.sql`
    insert into app.tenants (slug, legal_name, status)
    select 'shop-' || n, (array['Harbor Embroidery ', 'Peña Bordados '])[1 + n % 2] || n, 'active' from generate_series(1, 60) n`
  const slugs = Array.from({ length: 60 }, (_, index) => `shop-${index + 1}`)
  await createPerson({ email: 'many@shops.test', slugs })
})
afterAll(() => web.close())

/** Creates a user with the password of the seeded ones. */
async function createPerson(given: Parameters<typeof createUser>[1]): Promise<void> {
  const id = await createUser(web.service.sql, given)
  await web.service.sql`
    update app.users set password_hash = (select password_hash from app.users where email = 'sales@acme.test') where id = ${id}`
}

const suspend = (slug: string, status = 'suspended') =>
  web.service.sql`update app.tenants set status = ${status} where slug = ${slug}`

/** The names of the shops that a page lists, in order. */
const listed = (body: string): string[] =>
  [...body.matchAll(/<strong>([^<]*) \(shop-\d+\)<\/strong>/g)].map(([, name = '']) => name)

describe('the choice of a shop', () => {
  it('has 60 shops by name with numbers as numbers, and the three last used ones first', async () => {
    const person = await web.signedIn('many@shops.test', 'shop-7')
    for (const slug of ['shop-9', 'shop-2', 'shop-40']) {
      await person.open('/shops')
      const [shop] = await web.service.sql`select id from app.tenants where slug = ${slug}`
      await person.submit('/shops', { tenant: shop?.['id'] })
    }
    const shown = listed((await person.open('/shops')).body)
    expect(shown.slice(0, 3)).toEqual(['Harbor Embroidery 40', 'Harbor Embroidery 2', 'Peña Bordados 9'])
    const all = shown.slice(3)
    expect(all).toHaveLength(60)
    expect(all.slice(0, 6)).toEqual([2, 4, 6, 8, 10, 12].map((number) => `Harbor Embroidery ${number}`))
    expect(all.at(-1)).toBe('Peña Bordados 59')
  })

  it('finds shops without accents, in any order of words, and keeps the page that the person wanted', async () => {
    const person = await web.signedIn('many@shops.test', 'shop-7')
    for (const q of ['pena 11', '11 PEÑA', 'bordados shop-11'])
      expect(listed((await person.open(`/shops?q=${encodeURIComponent(q)}`)).body), q).toEqual(['Peña Bordados 11'])
    expect((await person.open('/shops?q=nothing')).body).toContain('No shop found')
    const { body } = await person.open(`/shops?next=${encodeURIComponent('/s/shop-3/roles')}`)
    expect(listed(body)[0]).toBe('Peña Bordados 3')
    expect(body).toContain('<input type="hidden" name="next" value="/s/shop-3/roles">\n<div class="filter">')
  })

  it('has no search for few shops', async () => {
    const person = await web.signedIn('both@shops.test')
    expect(person.page.body).not.toContain('type="search"')
    expect(person.page.body.match(/<button type="submit" class="choice">/g)).toHaveLength(2)
  })

  it('says of the only shop that there is no other one', async () => {
    const person = await web.signedIn('sales@acme.test')
    expect(person.page.body).toContain('<h1>Acme Print</h1>')
    expect((await person.open('/shops')).body).toContain('You work in one shop.')
  })
})

describe('a suspended shop', () => {
  it('is shown as suspended to its people, with whom to ask', async () => {
    await createPerson({ email: 'staff@suspended.test', role: 'sales', slugs: ['shop-21'] })
    await createPerson({ email: 'owner@suspended.test', slugs: ['shop-21'] })
    await suspend('shop-21')
    const staff = await web.signedIn('staff@suspended.test')
    expect(staff.page.body).toContain('Peña Bordados 21 (shop-21) is suspended')
    expect(staff.page.body).toContain('Ask an owner of the shop.')
    expect(staff.page.body).not.toContain('You are in no shop yet')
    const owner = await web.signedIn('owner@suspended.test')
    expect(owner.page.body).toContain('Ask the support of Tenantry what to do.')
    await suspend('shop-21', 'active')
    expect((await owner.open('/shops')).body).toContain('<h1>Peña Bordados 21</h1>')
  })

  it('is not offered to work in, and its pages say why', async () => {
    await createPerson({ email: 'two@suspended.test', slugs: ['shop-22', 'shop-23'] })
    await suspend('shop-23')
    const person = await web.signedIn('two@suspended.test')
    expect(person.page.body).toContain('<h1>Harbor Embroidery 22</h1>')
    for (const address of ['/shops', '/s/shop-23/members']) {
      const { body } = await person.open(address)
      expect(body, address).toContain('Peña Bordados 23 (shop-23) is suspended')
      expect(listed(body), address).toEqual(['Harbor Embroidery 22'])
    }
    await suspend('shop-23', 'active')
  })
})

it('says on the start page in words what the role permits, and nothing else', async () => {
  const { body } = (await web.signedIn('designer@acme.test', 'acme-print')).page
  const permitted = [...(body.split('What your role permits')[1] ?? '').matchAll(/<li>([^<]*)<\/li>/g)].map(
    ([, text]) => text,
  )
  expect(permitted).toEqual(expect.arrayContaining(['see designs', 'change designs', 'see deals']))
  for (const other of ['change deals', 'approve designs', 'manage members']) expect(permitted).not.toContain(other)
})
