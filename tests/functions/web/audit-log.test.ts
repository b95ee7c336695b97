import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AuditAction } from '#shared/audit/actions.ts'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

const BASE = '/s/acme-print'

/** The entries of a page as people read them: each its sentence and what it changed. */
const entriesOf = (body: string): string[] =>
  Array.from(body.matchAll(/<li><div>(.*?)<\/div>/gs), ([, entry = '']) =>
    entry
      .replaceAll('</li><li>', '; ')
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .replaceAll(' .', '.')
      .trim(),
  )

interface Planted {
  readonly action: AuditAction
  readonly target?: string
  readonly targetId?: string | null
  readonly before?: object
  readonly after?: object
  readonly actor?: string | null
  readonly at?: string
}

/** Writes an entry of Acme's log. Its actor is the owner, unless another address is given. */
async function plant({
  action,
  target = 'tenant',
  targetId = null,
  before,
  after,
  actor = 'owner@acme.test',
  at,
}: Planted): Promise<void> {
  const json = (value: object | undefined) => (value === undefined ? null : JSON.stringify(value))
  await web.service.sql`
    insert into app.audit_log (tenant_id, actor_user_id, action, target_type, target_id, before, after, occurred_at)
    select t.id, (select id from app.users where email = ${actor}), ${action}, ${target}, ${targetId}, ${json(before)}::text::jsonb,
           ${json(after)}::text::jsonb, coalesce(${at ?? null}::text::timestamptz, clock_timestamp())
      from app.tenants t where t.slug = 'acme-print'`
}

const member = async (email: string): Promise<string> =>
  (
    await web.service.sql<{ id: string }[]>`
    select m.id from app.memberships m join app.users u on u.id = m.user_id join app.tenants t on t.id = m.tenant_id
     where u.email = ${email} and t.slug = 'acme-print'`
  )[0]?.id ?? ''

const openLog = async (query: string, language?: string) => {
  const owner = await web.signedIn('owner@acme.test', 'acme-print')
  if (language !== undefined) owner.cookies.set('__Host-tenantry-lang', language)
  return (await owner.open(`${BASE}/audit-log?${query}`)).body
}

describe('the audit log page', () => {
  it('says in words what each action changed, whatever its fields are', async () => {
    const [day, filter] = ['2021-03-04', 'from=2021-03-04&to=2021-03-04']
    const at = `${day}T17:00:00Z`
    const entry = (planted: Planted) => plant({ at, ...planted })
    await entry({
      action: 'membership.role_changed',
      target: 'membership',
      targetId: await member('sales@acme.test'),
      before: { role: 'viewer' },
      after: { role: 'sales' },
    })
    await entry({
      action: 'tenant.changed',
      before: { legal_name: 'Acme', timezone: 'America/New_York', currency: 'USD' },
      after: { legal_name: 'Acme', timezone: 'America/Chicago', currency: 'USD', changed_settings: ['footer_text'] },
    })
    await entry({
      action: 'role.changed',
      target: 'role',
      before: { id: 101, label: 'Night shift', permissions: ['deal.read', 'catalog.read'] },
      after: { id: 101, label: 'Late shift', permissions: ['deal.read', 'design.read'] },
    })
    await entry({
      action: 'tenant.status_changed',
      actor: null,
      before: { status: 'trial' },
      after: { status: 'past_due', operator: 'arn:aws:iam::1:role/x', reason: 'Invoice 17' },
    })
    await entry({
      action: 'deal.changed',
      target: 'deal',
      before: { status: 'draft', customer_name: 'Blue <Mesa>' },
      after: { status: 'won', customer_name: 'Blue <Mesa>' },
    })
    await entry({
      action: 'design.asset_removed',
      target: 'design',
      before: { asset_id: crypto.randomUUID(), file_name: 'logo.svg', sha256: '00' },
    })
    await entry({
      action: 'vendor_account.created',
      target: 'vendor_account',
      after: {
        vendor: 'sanmar',
        account_number: '4711',
        last_error: 'timeout',
        changed_settings: [],
        future_field: 1234,
      },
    })
    await entry({ action: 'vendor_account.opened', target: 'vendor_account', after: { reason: 'rotate' } })
    expect(entriesOf(await openLog(filter)).toSorted()).toEqual([
      'Owner Acme changed a deal. Status: from Draft to Won',
      'Owner Acme changed the role Late shift. Name: from Night shift to Late shift; Permissions: added see designs; removed see the catalog',
      'Owner Acme changed the settings of the shop. Time zone: from New York to Chicago; Other settings: footer text',
      'Owner Acme connected a vendor account. Vendor: sanmar; Account number: 4711; Failure: the vendor did not answer in time; future field: 1,234',
      'Owner Acme made Sales Acme Sales. Role: from Viewer to Sales',
      'Owner Acme removed the file logo.svg from a design.',
      'Owner Acme used the credentials of a vendor account. Reason: to replace the key',
      'The platform changed the status of the shop to Payment due. Status: from Trial to Payment due; Reason: Invoice 17',
    ])
    const spanish = entriesOf(await openLog(filter, 'es'))
    expect(spanish).toContain(
      'Owner Acme cambió los ajustes de la tienda. Zona horaria: de New York a Chicago; Otros ajustes: footer text',
    )
    for (const change of [
      'Estado: de De prueba a Pago pendiente; Motivo: Invoice 17',
      'Fallo: el proveedor no respondió a tiempo; future field: 1,234',
      'Motivo: sustituir la clave',
    ])
      expect(spanish.join()).toContain(change)
  })

  it('leaves sign-ins out until somebody asks for them, and never a failed one', async () => {
    await plant({ action: 'session.tenant_selected', target: 'session', actor: 'sales@acme.test' })
    await plant({
      action: 'session.sign_in_failed',
      target: 'user',
      actor: null,
      targetId: (await web.service.sql`select id from app.users where email = 'viewer@acme.test'`)[0]?.['id'],
    })
    const failed = 'Somebody tried to sign in as Viewer Acme and failed.'
    const begun = 'Sales Acme began to work in this shop.'
    const hidden = entriesOf(await openLog(''))
    expect(hidden).toContain(failed)
    expect(hidden).not.toContain(begun)
    expect(entriesOf(await openLog('sign_ins=shown'))).toEqual(expect.arrayContaining([failed, begun]))
    expect(entriesOf(await openLog('action=session.tenant_selected'))).toContain(begun)
  })

  it('puts the entries under the days of the shop, and links to whom they are about', async () => {
    const targetId = await member('sales@acme.test')
    await web.service.sql`update app.tenants set timezone = 'America/New_York' where slug = 'acme-print'`
    for (const at of ['2021-05-02T03:59:00Z', '2021-05-02T04:01:00Z'])
      await plant({ action: 'membership.role_changed', target: 'membership', targetId, after: { role: 'viewer' }, at })
    const body = await openLog('from=2021-05-01&to=2021-05-02')
    expect(
      Array.from(
        body.matchAll(/<h2>([^<]*)<\/h2>|<span class="screen">([^<]*)</g),
        ([, day, time]) => day ?? time?.replace('\u202F', ' '),
      ),
    ).toEqual(expect.arrayContaining(['Sunday, May 2, 2021', '12:01 AM EDT', 'Saturday, May 1, 2021', '11:59 PM EDT']))
    expect(body).toContain(`<a href="${BASE}/members?q=Sales+Acme">Sales Acme</a>`)
    await web.service.sql`update app.tenants set timezone = 'UTC' where slug = 'acme-print'`
  })

  it('finds people by a part of the name or address, leads to one of several, and refuses too many at the field', async () => {
    await web.service.sql`
      with person as (
        insert into app.users (email, full_name) select 'crew' || n || '@acme.test', 'Crew ' || chr(64 + n) from generate_series(1, 21) n returning id)
      insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
      select t.id, p.id, 7, now() from app.tenants t, person p where t.slug = 'acme-print'`
    const at = '2021-06-01T12:00:00Z'
    const days = 'from=2021-06-01&to=2021-06-01'
    for (const name of ['crew10', 'crew11', 'owner'])
      await plant({ action: 'role.deleted', target: 'role', before: { code: 'x' }, actor: `${name}@acme.test`, at })
    const several = await openLog(`who=crew1&${days}`)
    expect(entriesOf(several).toSorted()).toEqual(['Crew J deleted the role x.', 'Crew K deleted the role x.'])
    const [, one = ''] = /href="([^"]*actor=[^"]*)">Crew J</.exec(several) ?? []
    const alone = await openLog(one.replaceAll('&amp;', '&').slice(one.indexOf('?') + 1))
    expect(entriesOf(alone)).toEqual(['Crew J deleted the role x.'])
    const many = await openLog('who=crew')
    expect(many).toContain('id="field-who-error"')
    expect(many).toContain('value="crew"')
    expect(await openLog('who=no-such-person')).toContain(
      'No present or former member of the shop has such a name or address.',
    )
    expect(await openLog(`who=${'x'.repeat(300)}`)).toContain('No entries found')
  })

  it('says which entries of how many it shows, and leads back and forth with the filters', async () => {
    await web.service.sql`
      insert into app.audit_log (tenant_id, action, target_type, occurred_at)
      select t.id, 'deal.created', 'deal', '2021-07-01T12:00:00Z'::timestamptz + n * interval '1 second'
        from app.tenants t, generate_series(1, 120) n where t.slug = 'acme-print'`
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    const follow = async (label: string) => {
      const [, href = ''] = new RegExp(`<a href="([^"]*)">${label}</a>`).exec(owner.page.body) ?? []
      expect(href).toContain('from=2021-07-01')
      await owner.open(href.replaceAll('&amp;', '&'))
    }
    const place = () => /Entries [^<]*/.exec(owner.page.body)?.[0]
    await owner.open(`${BASE}/audit-log?from=2021-07-01&to=2021-07-01`)
    expect(place()).toBe('Entries 1 to 50 of 120')
    await follow('Next page')
    await follow('Next page')
    expect(place()).toBe('Entries 101 to 120 of 120')
    await follow('Previous page')
    expect(place()).toBe('Entries 51 to 100 of 120')
    await follow('First page')
    expect(place()).toBe('Entries 1 to 50 of 120')
  })

  it('prints the shop, the time and the filter in words', async () => {
    const body = await openLog('who=owner&action=role.deleted&from=2021-06-01&to=2021-06-02')
    const [, paper = ''] = /<p class="paper">(.*?)<\/p>/s.exec(body) ?? []
    expect(paper).toMatch(/^[^,]+, as of \w{3} \d+, \d{4}, /)
    expect(paper).toContain(
      'Who (name or address): Owner Acme · What: Role deleted · From: June 1, 2021 · To: June 2, 2021 · Sign-ins: Left out',
    )
  })

  it.each(['0026-11-25', '9999-12-31', '2026-02-30', 'tomorrow', '-000001-01-01'])(
    'says at the field that %s is no day that it can look for',
    async (day) => {
      const owner = await web.signedIn('owner@acme.test', 'acme-print')
      for (const name of ['from', 'to']) {
        const { status, body } = await owner.open(`${BASE}/audit-log?${name}=${day}`)
        expect(status).toBe(422)
        expect(body).toContain('Enter a day from January 1, 2000 to December 31, 2999.')
        expect(body).toContain(
          `<input id="field-${name}" name="${name}" aria-describedby="field-${name}-error" aria-invalid="true" type="date" value="${day}" min="2000-01-01" max="2999-12-31"`,
        )
        expect(body).toContain(`<a href="#field-${name}">`)
      }
    },
  )

  it.each([
    ['America/Santiago', '2026-09-06T03:30:00Z', '2026-09-05'],
    ['America/Santiago', '2027-09-05T04:00:00Z', '2027-09-05'],
    ['Africa/Cairo', '2026-04-23T21:59:00Z', '2026-04-23'],
    ['Pacific/Apia', '2026-06-30T10:59:59Z', '2026-06-30'],
  ])('finds an entry of a shop in %s at %s under its day there, and under no other', async (zone, time, day) => {
    const { sql } = web.service
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    await sql`update app.tenants set timezone = ${zone} where slug = 'acme-print'`
    await sql`
      insert into app.audit_log (tenant_id, action, target_type, occurred_at)
      select id, 'vendor_account.revoked', 'vendor_account', ${time}::text::timestamptz from app.tenants where slug = 'acme-print'`
    const entriesOf = async (from: string) =>
      (await owner.open(`${BASE}/audit-log?from=${from}&to=${from}&action=vendor_account.revoked`)).body.split('<time')
        .length - 1
    const at = (days: number) => new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10)
    expect([await entriesOf(at(-1)), await entriesOf(day), await entriesOf(at(1))]).toEqual([0, 1, 0])
    const shown = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' }).format(
      Date.parse(day),
    )
    expect((await owner.open(`${BASE}/audit-log?from=${day}&to=${day}&action=vendor_account.revoked`)).body).toContain(
      `${shown}, ${day.slice(0, 4)}`,
    )
    await sql`update app.tenants set timezone = 'UTC' where slug = 'acme-print'`
  })
})

describe('a download of the audit log', () => {
  it('is the file of the filter, which the page leads to, and is recorded once', async () => {
    await plant({ action: 'role.deleted', target: 'role', before: { code: 'first' }, at: '2021-08-01T12:00:00Z' })
    await plant({ action: 'role.deleted', target: 'role', before: { code: 'second' }, at: '2021-08-02T12:00:00Z' })
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    const follow = async (label: string) => {
      const [, href = ''] = new RegExp(`<a[^>]* ?href="([^"]*)"[^>]*>${label}</a>`).exec(owner.page.body) ?? []
      return owner.open(href.replaceAll('&amp;', '&'))
    }
    await owner.open(`${BASE}/audit-log?who=owner%40acme&from=2021-08-01&to=2021-08-01`)
    await follow('Download')
    expect(owner.page.body).toContain('1 entries, from Aug 1, 2021')
    const { page } = owner
    const csv = await follow('As CSV, for spreadsheets')
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="audit-log-acme-print.csv"')
    expect(csv.body.split('\r\n').filter((line) => line.includes('role.deleted'))).toHaveLength(1)
    expect(csv.body).toContain('"{""code"":""first""}"')
    owner.page = page
    const ndjson = await follow('As NDJSON, for programs')
    expect(JSON.parse(ndjson.body)).toMatchObject({ action: 'role.deleted', before: { code: 'first' } })
    const said = entriesOf(await openLog('action=audit_log.downloaded'))
    expect(said).toHaveLength(2)
    expect(said[0]).toMatch(
      /^Owner Acme downloaded entries of the audit log\. Entries: 1; Format: ndjson; Oldest entry: Aug 1, 2021, /,
    )
  })

  it('is neither written nor recorded for an address of another shop, or for people whom nobody can find', async () => {
    const both = await web.signedIn('both@shops.test', 'acme-print')
    const count = async () =>
      (await web.service.sql`select 1 from app.audit_log where action = 'audit_log.downloaded'`).length
    const before = await count()
    for (const address of ['/s/bolt-apparel/audit-log.csv', '/s/no-such-shop/audit-log.ndjson'])
      expect([403, 404, 409]).toContain((await both.request(address)).status)
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    const lost = await owner.request(`${BASE}/audit-log.csv?who=nobody-at-all`)
    expect([lost.status, lost.location]).toEqual([303, `${BASE}/audit-log?who=nobody-at-all`])
    expect(await count()).toBe(before)
  })
})
