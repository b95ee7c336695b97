import { beforeEach, describe, expect, it } from 'vitest'
import { csvCell, MOST_BYTES, MOST_ENTRIES, roomOfFile, writeFile } from '#functions/api/audit-log/file.ts'
import type { Entry } from '#functions/api/audit-log/queries.ts'
import type { TestMember } from '#tests/support/minted-session.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
let slug: string
let tenant: string
let owner: TestMember
let sales: TestMember

beforeEach(async () => {
  ;({ slug, id: tenant, owner, sales } = await service.newTenant('owner', 'sales'))
})

const get = (query: string, by = owner) => service.request(`GET /v1/audit-log?${query}`, { token: by.token })
const plant = (count: number, bytes = 0) => service.sql`
  insert into app.audit_log (tenant_id, actor_user_id, action, target_type, occurred_at, after)
  select ${tenant}, ${owner.userId}, 'deal.created', 'deal', now() - n * interval '1 second', jsonb_build_object('customer_name', repeat('"', ${bytes}))
    from generate_series(1, ${count}::int) n`
const idsOf = (ndjson: string): string[] =>
  ndjson
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line).id)

/** Parses a file of quoted cells. */
const cellsOf = (csv: string): string[][] =>
  csv
    .replace(/^\uFEFF/, '')
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) => Array.from(line.matchAll(/"((?:[^"]|"")*)"(?:,|$)/g), ([, cell = '']) => cell.replaceAll('""', '"')))

describe('a download of the audit log', () => {
  it('contains the entries of the filter in each format, and is an entry of the log itself', async () => {
    await service.request(`PATCH /v1/members/${sales.membershipId}`, { token: owner.token, body: { role: 'viewer' } })
    await plant(3)
    const [csv, ndjson] = [
      await get('format=csv&action=membership.role_changed'),
      await get(`format=ndjson&actor=${owner.userId}&leave_out=sign-ins`),
    ]
    expect(csv.headers.get('content-type')).toBe('text/csv')
    expect(ndjson.headers.get('content-type')).toBe('application/x-ndjson')
    expect(csv.headers.get('content-disposition')).toBe(`attachment; filename="audit-log-${slug}.csv"`)
    const [head, row, ...others] = cellsOf(csv.text)
    expect(others).toEqual([])
    expect(Object.fromEntries((head ?? []).map((name, at) => [name, row?.[at]]))).toMatchObject({
      action: 'membership.role_changed',
      actor_id: owner.userId,
      target_name: 'Person sales',
      before: '{"role":"sales"}',
      after: '{"role":"viewer"}',
    })
    const { data } = (await get('limit=100')).body
    const [second, first, ...rest] = data
    expect([second.action, first.action]).toEqual(['audit_log.downloaded', 'audit_log.downloaded'])
    expect(first).toMatchObject({ actor: { id: owner.userId }, target: { type: 'tenant', id: tenant } })
    expect(first.after).toMatchObject({
      format: 'csv',
      entries: 1,
      action: 'membership.role_changed',
      newest: rest[0].occurred_at,
    })
    // The first download is an entry of the second one.
    expect(second.after).toMatchObject({ format: 'ndjson', entries: 5, actors: [owner.userId] })
    expect(idsOf(ndjson.text)).toEqual([first, ...rest].map(({ id }: Entry) => id))
  })

  it('is refused without the permission, and leaves no entry when it is refused', async () => {
    expect((await get('format=csv', sales)).status).toBe(403)
    expect((await get('format=xml')).status).toBe(422)
    expect((await get('format=csv&actor=me')).status).toBe(422)
    expect((await get('')).body.data).toEqual([])
  })

  it.each([
    ['many entries', MOST_ENTRIES + 10, 0, MOST_ENTRIES],
    ['large entries', 260, 6000, 259],
  ])(
    'of %s is cut to what a function may return, and its links lead through all of them once',
    async (_, count, bytes, most) => {
      await plant(count, bytes)
      const { data } = (await get('limit=1')).body
      const seen: string[] = []
      let path: string | null = '/v1/audit-log?format=ndjson&action=deal.created'
      for (let files = 0; path !== null; files += 1) {
        const answer = await service.request(`GET ${path}`, { token: owner.token })
        expect(answer.status).toBe(200)
        expect(Buffer.byteLength(JSON.stringify(answer.text))).toBeLessThanOrEqual(MOST_BYTES)
        const ids = idsOf(answer.text)
        expect(ids.length).toBeLessThanOrEqual(most)
        seen.push(...ids)
        path = /^<([^>]*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1] ?? null
        expect(files).toBeLessThan(10)
      }
      expect(seen[0]).toBe(data[0].id)
      expect([seen.length, new Set(seen).size]).toEqual([count, count])
      const { part } = (await get('limit=1&include=part&action=deal.created')).body
      expect(part.entries).toBeLessThanOrEqual(most)
      const next = await get(`format=csv&action=deal.created&cursor=${part.next_cursor}`)
      expect(cellsOf(next.text)[1]?.[0]).toBe(seen[part.entries])
    },
  )

  it('contains an entry that is larger than a file alone, so that no link leads nowhere', () => {
    const item = {
      after: { customer_name: 'x'.repeat(1000) },
      before: null,
      actor: null,
      target: {},
    } as unknown as Entry
    const fits = roomOfFile(100)
    expect([fits(item), fits(item)]).toEqual([true, false])
    expect(writeFile('ndjson', [])).toBe('')
  })
})

it.each([
  '=HYPERLINK("http://x")',
  '+1',
  '-1+2',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  '\n=1',
  '\0=1',
  '＝1',
  '＋1',
  '－1',
  '＠1',
])('a cell that begins like the formula %j is text for a spreadsheet', (text) => {
  expect(csvCell(text)).toBe(`"'${text.replaceAll('"', '""')}"`)
})

it('a cell keeps commas, quotes, line breaks and signs within', () => {
  expect(csvCell('a,"b"\n=c')).toBe('"a,""b""\n=c"')
})
