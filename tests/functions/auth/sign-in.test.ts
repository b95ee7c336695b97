import { describe, expect, it } from 'vitest'
import { createClient, type ProblemError } from '#shared/client/client.ts'
import { seeingFetch } from '#tests/support/documented.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()

const client = (token?: string) =>
  createClient({ baseUrl: service.gateway.url, fetch: seeingFetch, ...(token === undefined ? {} : { token }) })

const signIn = async (email: string, password = PASSWORD) => {
  const reply = await client().call('POST /v1/auth/login', { body: { email, password } })
  if ('second_factor' in reply) throw new Error('the sign-in owes a second factor')
  return client(reply.token)
}

describe('the main journeys', () => {
  it('lets a user log in, select a tenant, search the catalogue and log out', async () => {
    const { call } = await signIn('BOTH@Shops.Test')
    const pending = await call('GET /v1/auth/session')
    expect(pending).toMatchObject({ tenant: null, role: null, permissions: [] })

    const choices = await call('GET /v1/auth/tenants')
    expect(choices.data.map(({ tenant, role }) => [tenant.slug, role.code])).toEqual([
      ['acme-print', 'sales'],
      ['bolt-apparel', 'viewer'],
    ])
    const id = choices.data[0]?.tenant.id ?? ''
    const selected = await call('POST /v1/auth/tenants/{id}/select', { params: { id } })
    expect(selected.tenant?.id).toBe(id)

    const active = await call('GET /v1/auth/session')
    expect(active.tenant?.slug).toBe('acme-print')
    expect(active.permissions).toContain('deal.price.write')
    const styles = await call('GET /v1/catalog/styles', { query: { q: '2000' } })
    expect(styles.data[0]).toMatchObject({ style_number: '2000', brand: 'Gildan' })

    expect(await call('DELETE /v1/auth/session')).toBeNull()
    await expect(call('GET /v1/auth/session')).rejects.toMatchObject({ status: 401 } satisfies Partial<ProblemError>)
  })

  it('lets an owner invite a person who accepts, logs in, changes role and is removed', async () => {
    const owner = await signIn('owner@acme.test')
    const { data } = await owner.call('GET /v1/auth/tenants')
    const id = data[0]?.tenant.id ?? ''
    await owner.call('POST /v1/auth/tenants/{id}/select', { params: { id } })
    const email = 'newcomer@acme.test'
    const invitation = await owner.call('POST /v1/members/invite', { body: { email, role: 'sales' } })
    expect((await owner.call('GET /v1/members/invitations', { query: { limit: 1 } })).data).toEqual([invitation])

    const token = await service.mail.tokenFor(email)
    const offer = await client().call('POST /v1/auth/invitations/inspect', { body: { token } })
    expect(offer).toMatchObject({ email, role: 'sales', account_exists: false })
    const password = 'a passphrase of the newcomer'
    const body = { token, password, full_name: 'Nora Newcomer' }
    const accepted = await client().call('POST /v1/auth/invitations/accept', { body })
    expect(accepted.account_created).toBe(true)

    const newcomer = await signIn(email, password)
    await newcomer.call('POST /v1/auth/tenants/{id}/select', { params: { id: accepted.tenant.id } })
    const forbidden = newcomer.call('GET /v1/members')
    await expect(forbidden).rejects.toMatchObject({ status: 403, kind: 'about:blank' } satisfies Partial<ProblemError>)

    const { data: members } = await owner.call('GET /v1/members', { query: { q: 'newcomer', status: 'active' } })
    const params = { id: members[0]?.id ?? '' }
    const changed = await owner.call('PATCH /v1/members/{id}', { params, body: { role: 'viewer' } })
    expect(changed).toMatchObject({ user: { email, full_name: 'Nora Newcomer' }, role: { code: 'viewer' } })
    expect((await owner.call('DELETE /v1/members/{id}', { params })).revoked_at).toMatch(/^20\d\d-.*Z$/)
    await expect(newcomer.call('GET /v1/auth/session')).rejects.toMatchObject({ status: 401 })
  })
})
