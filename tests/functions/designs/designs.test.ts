import { describe, expect, it } from 'vitest'
import { createTestDatabase } from '#tests/support/database.ts'
import { rounds } from '#tests/support/rounds.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()

const ASSET = { file_name: 'front.svg', media_type: 'image/svg+xml', size_bytes: 48_213, sha256: 'ab'.repeat(32) }

interface Shown {
  readonly id: string
  readonly is_primary: boolean
}

/** Makes a tenant, and in it a design with so many assets. `call` requests a route of the design as its designer. */
async function newDesign(assets: number) {
  const tenant = await service.newTenant('designer', 'admin', 'viewer')
  const { token } = tenant.designer
  const { body: design } = await service.request('POST /v1/designs', { token, body: { name: 'Team shirt' } })
  const call = (method: string, path = '', body?: object) =>
    service.request(`${method} /v1/designs/${design.id}${path}`, { token, ...(body === undefined ? {} : { body }) })
  const ids: string[] = []
  for (let index = 0; index < assets; index += 1) ids.push((await call('POST', '/assets', ASSET)).body.id)
  const approve = () => service.request(`POST /v1/designs/${design.id}/approve`, { token: tenant.admin.token })
  return { tenant, design, ids, call, approve }
}

const primaries = (assets: readonly Shown[]): string[] => assets.filter((asset) => asset.is_primary).map(({ id }) => id)

describe('a design', () => {
  it('is created without assets, and listed newest first with its primary asset', async () => {
    const { tenant, design, ids } = await newDesign(2)
    expect(design).toMatchObject({ name: 'Team shirt', approved_at: null, approved_by: null, assets: [] })
    expect(design.created_by).toBe(tenant.designer.userId)
    const { token } = tenant.designer
    const { body: later } = await service.request('POST /v1/designs', { token, body: { name: 'Cap' } })
    const list = (query: string) => service.request(`GET /v1/designs?${query}`, { token: tenant.viewer.token })
    const { body } = await list('limit=1')
    expect(body.data).toMatchObject([{ id: later.id, primary_asset: null }])
    const next = await list(`cursor=${body.next_cursor}`)
    expect(next.body).toMatchObject({
      data: [{ id: design.id, primary_asset: { id: ids[0], ...ASSET } }],
      next_cursor: null,
    })
    expect(Object.keys(next.body.data[0])).not.toContain('assets')
  })

  it('makes the first asset primary, and keeps it so until another is chosen', async () => {
    const { ids, call } = await newDesign(3)
    expect(primaries((await call('GET')).body.assets)).toEqual([ids[0]])
    const chosen = await call('PUT', '/primary-asset', { asset_id: ids[2] })
    expect(chosen.body).toEqual((await call('GET')).body)
    expect(primaries(chosen.body.assets)).toEqual([ids[2]])
  })

  it('makes the oldest remaining asset primary when the primary one is removed', async () => {
    const { ids, call } = await newDesign(3)
    expect((await call('DELETE', `/assets/${ids[1]}`)).body.assets.map(({ id }: Shown) => id)).toEqual([ids[0], ids[2]])
    expect(primaries((await call('DELETE', `/assets/${ids[0]}`)).body.assets)).toEqual([ids[2]])
    expect((await call('DELETE', `/assets/${ids[2]}`)).body.assets).toEqual([])
    expect(primaries([(await call('POST', '/assets', ASSET)).body])).toHaveLength(1)
  })

  it('is approved once, and no longer when an asset is added or removed', async () => {
    const { tenant, ids, call, approve } = await newDesign(2)
    const approved = await approve()
    expect(approved.body).toMatchObject({ approved_by: tenant.admin.userId, approved_at: expect.any(String) })
    expect((await approve()).body).toEqual(approved.body)
    expect((await call('PUT', '/primary-asset', { asset_id: ids[1] })).body).toMatchObject({
      approved_at: approved.body.approved_at,
    })
    await call('POST', '/assets', ASSET)
    expect((await call('GET')).body).toMatchObject({ approved_at: null, approved_by: null })
    await approve()
    const removed = await call('DELETE', `/assets/${ids[0]}`)
    expect(removed.body).toMatchObject({ approved_at: null, approved_by: null })
    expect((await call('GET')).body).toEqual(removed.body)
  })

  it('has no asset of another design', async () => {
    const { tenant, call } = await newDesign(1)
    const { token } = tenant.designer
    const { body: other } = await service.request('POST /v1/designs', { token, body: { name: 'Other' } })
    const { body: asset } = await service.request(`POST /v1/designs/${other.id}/assets`, { token, body: ASSET })
    expect((await call('PUT', '/primary-asset', { asset_id: asset.id })).status).toBe(404)
    expect((await call('DELETE', `/assets/${asset.id}`)).status).toBe(404)
    expect((await service.request(`GET /v1/designs/${other.id}`, { token })).body.assets).toHaveLength(1)
  })

  it.each([
    ['size_bytes', 0],
    ['size_bytes', 1.5],
    ['size_bytes', 2 ** 40 + 1],
    ['sha256', 'AB'.repeat(32)],
    ['sha256', 'ab'.repeat(31)],
    ['media_type', 'svg'],
    ['media_type', 'image/svg+xml; charset=utf-8'],
    ['file_name', 'a'.repeat(256)],
    ['file_name', '../front.svg'],
    ['file_name', 'a\\b.svg'],
    ['file_name', '.'],
    ['file_name', '..'],
    ['file_name', 'a／b.svg'],
    ['file_name', '．．'],
    ['file_name', '/etc/passwd'],
  ])('rejects an asset with a wrong %s: %s', async (name, value) => {
    const { call } = await newDesign(0)
    const { status, body } = await call('POST', '/assets', { ...ASSET, [name]: value })
    expect([status, body.errors?.[0].pointer]).toEqual([422, `#/${name}`])
    expect((await call('POST', '/assets', { ...ASSET, size_bytes: 2 ** 40 })).body.size_bytes).toBe(2 ** 40)
  })
})

describe('concurrent changes of a design', () => {
  it('leave exactly one primary asset, whichever calls are concurrent', async () => {
    for (const _ of rounds(10)) {
      const { ids, call } = await newDesign(0)
      const added = await Promise.all(Array.from({ length: 4 }, () => call('POST', '/assets', ASSET)))
      ids.push(...added.map(({ body }) => body.id))
      expect(primaries((await call('GET')).body.assets)).toHaveLength(1)
      const chosen = await Promise.all(ids.map((id) => call('PUT', '/primary-asset', { asset_id: id })))
      expect(chosen.map(({ status }) => status)).toEqual([200, 200, 200, 200])
      expect(primaries((await call('GET')).body.assets)).toHaveLength(1)
      await Promise.all([
        ...ids.slice(0, 3).map((id) => call('DELETE', `/assets/${id}`)),
        call('PUT', '/primary-asset', { asset_id: ids[3] }),
      ])
      expect(primaries((await call('GET')).body.assets)).toEqual([ids[3]])
    }
  })

  it('cannot store two primary assets even without the lock, because an index refuses the second', async () => {
    const database = await createTestDatabase()
    const { admin } = database
    const race = async (): Promise<number> => {
      await admin`update app.design_assets set is_primary = false`
      const [pair] = await admin<{ ids: string[] }[]>`
        select array_agg(id) as ids from app.design_assets group by design_id having count(*) = 2 limit 1`
      await Promise.allSettled(
        (pair?.ids ?? []).map((id) => admin`update app.design_assets set is_primary = true where id = ${id}`),
      )
      const [row] = await admin<{ count: number }[]>`select count(*)::int from app.design_assets where is_primary`
      return row?.count ?? 0
    }
    expect(await race()).toBe(1)
    await admin`drop index app.design_assets_one_primary`
    expect(await race()).toBe(2)
    await database.drop()
  })
})
