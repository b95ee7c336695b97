import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PASSWORD, startService, type TestService } from '#tests/support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

describe('the main job', () => {
  it('signs a person in, lets them choose a shop, acts in it, and ends the session at once', async () => {
    const login = await service.request('POST /v1/auth/login', {
      body: { email: 'BOTH@Shops.Test', password: PASSWORD },
    })
    expect(login.status).toBe(200)
    const { token } = login.body
    const pending = await service.request('GET /v1/auth/session', { token })
    expect(pending.body).toMatchObject({ tenant: null, role: null, permissions: [] })

    const choices = await service.request('GET /v1/auth/tenants', { token })
    expect(choices.body.data.map(({ tenant, role }: any) => [tenant.slug, role.code])).toEqual([
      ['acme-print', 'sales'],
      ['bolt-apparel', 'viewer'],
    ])
    const { id } = choices.body.data[0].tenant
    const selected = await service.request(`POST /v1/auth/tenants/${id}/select`, { token })
    expect(selected.status).toBe(200)
    expect(selected.headers.get('x-tenant-id')).toBe(id)

    const active = await service.request('GET /v1/auth/session', { token })
    expect(active.body.tenant.slug).toBe('acme-print')
    expect(active.body.permissions).toContain('deal.price.write')
    const styles = await service.request('GET /v1/catalog/styles?q=2000', { token })
    expect(styles.body.data[0]).toMatchObject({ style_number: '2000', brand: 'Gildan' })

    expect((await service.request('DELETE /v1/auth/session', { token })).status).toBe(204)
    expect((await service.request('GET /v1/auth/session', { token })).status).toBe(401)
  })
})
