import { beforeAll, describe, expect, it } from 'vitest'
import type { Style } from '#functions/api/catalog/queries.ts'
import { expectContract } from '#tests/support/expect-answer.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
let tenant: string
let token: string
let otherToken: string
beforeAll(async () => {
  const [own, other] = [await service.newTenant('viewer'), await service.newTenant('viewer')]
  tenant = own.id
  token = own.viewer.token
  otherToken = other.viewer.token
  for (const { id } of [own, other]) {
    await service.sql`
      insert into app.styles (tenant_id, style_number, name, brand, category)
      values (${id}, ${`Q-7_${id.slice(0, 4)}`}, 'Quilted Weaving Sample', 'Own Label', 'Samples')`
  }
})

const search = (query: Readonly<Record<string, string>>, as = token): Promise<Answer> =>
  service.request(`GET /v1/catalog/styles?${new URLSearchParams(query).toString()}`, { token: as })
const numbers = async (q: string, as = token): Promise<string[]> =>
  (await search({ q, limit: '100' }, as)).body.data.map(({ style_number }: Style) => style_number)

describe('GET /v1/catalog/styles', () => {
  it('finds styles by words of name, brand and category in any order, case and inflection', async () => {
    for (const q of ['Softstyle T-Shirt gildan', 'GILDAN softstyle t-shirts', '64000']) {
      expect(await numbers(q), q).toContain('64000')
    }
    expect(await numbers('gildan -softstyle')).not.toContain('64000')
    expect(await numbers('quilts')).toEqual([`Q-7_${tenant.slice(0, 4)}`])
    expect(await numbers('gildan nothingofthekind')).toEqual([])
  })

  it('finds styles by any part of their number in any case, with wildcards as plain characters', async () => {
    const found = await numbers('180')
    expect(found).toEqual(expect.arrayContaining(['18000', '5180', 'P180']))
    expect(found.every((number) => number.includes('180'))).toBe(true)
    expect(await numbers('7_')).toEqual([`Q-7_${tenant.slice(0, 4)}`])
    expect(await numbers('p18')).toEqual(['P180', 'P180B', 'P180L'])
    expect(await numbers(' q-7_')).toEqual([`Q-7_${tenant.slice(0, 4)}`])
    expect(await numbers('_')).toEqual([`Q-7_${tenant.slice(0, 4)}`])
    for (const q of ['%', '18_00', '80%0']) expect(await numbers(q), q).toEqual([])
  })

  it('finds a style by the beginning of its number with a capital beyond ASCII', async () => {
    await service.sql`
      insert into app.styles (tenant_id, style_number, name, brand, category)
      values (${tenant}, 'ÉA-10', 'Sample', 'Own', 'Samples')`
    expect(await numbers('Éa-1')).toEqual(['ÉA-10'])
    await service.sql`delete from app.styles where style_number = 'ÉA-10'`
  })

  it('pages through all styles by number, each exactly once', async () => {
    const rows = await service.sql<{ id: string }[]>`
      select id from app.styles where tenant_id is null or tenant_id = ${tenant} order by style_number collate "C", id`
    for (const limit of ['7', '100']) {
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const { body }: Answer = await search({ limit, ...(cursor === null ? {} : { cursor }) })
        seen.push(...body.data.map(({ id }: Style) => id))
        cursor = body.next_cursor
      } while (cursor !== null && seen.length <= rows.length)
      expect(seen).toEqual(rows.map(({ id }) => id))
    }
  })

  it('lists the tenant’s own styles beside those of the platform, and no style of another tenant', async () => {
    const answer = await search({ q: 'own label' })
    expectContract(answer, tenant)
    expect(answer.body.data).toEqual([
      {
        id: expect.any(String),
        style_number: `Q-7_${tenant.slice(0, 4)}`,
        name: 'Quilted Weaving Sample',
        brand: 'Own Label',
        category: 'Samples',
        vendors: [],
      },
    ])
    const [own] = await numbers('own label', otherToken)
    expect(own).not.toBe(`Q-7_${tenant.slice(0, 4)}`)
    expect(await numbers('64000', otherToken)).toEqual(await numbers('64000'))
  })
})
