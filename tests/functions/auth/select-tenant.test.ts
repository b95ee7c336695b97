import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { indistinguishable } from '#tests/support/expect-answer.ts'
import { createUser, createTenant, mintSession, tenantId } from '#tests/support/minted-session.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
const select = (token: string, id: string): Promise<Answer> =>
  service.request(`POST /v1/auth/tenants/${id}/select`, { token })

let people = 0
/** Creates a tenant and a user who is its member. */
async function personWithTenant(): Promise<{ email: string; slug: string; tenant: string; user: string }> {
  people += 1
  const [email, slug] = [`person${people}@select.test`, `select-${people}`]
  const tenant = await createTenant(service.sql, slug)
  return { email, slug, tenant, user: await createUser(service.sql, { email, slugs: [slug] }) }
}

describe('POST /v1/auth/tenants/{id}/select', () => {
  it('returns the same session object as GET /v1/auth/session after a tenant is selected', async () => {
    const { email, tenant } = await personWithTenant()
    const { token, id } = await mintSession(service.sql, { email })
    const selected = await select(token, tenant)
    expect(selected.status).toBe(200)
    expect(selected.headers.get('x-tenant-id')).toBe(tenant)
    expect(selected.body).toMatchObject({ session: { id }, tenant: { id: tenant }, role: { code: 'owner' } })
    const { session, ...who } = (await service.request('GET /v1/auth/session', { token })).body
    expect(selected.body).toMatchObject(who)
    expect(Object.keys(selected.body)).toEqual(['session', ...Object.keys(who)])
    expect(Object.keys(selected.body.session)).toEqual(Object.keys(session))
    const [row] = await service.sql`select tenant_id from app.sessions where id = ${id}`
    expect(row?.['tenant_id']).toBe(tenant)
  })

  it('binds only the calling session to the selected tenant', async () => {
    const { email, tenant } = await personWithTenant()
    const [chosen, other] = [await mintSession(service.sql, { email }), await mintSession(service.sql, { email })]
    await select(chosen.token, tenant)
    expect((await service.request('GET /v1/auth/session', { token: other.token })).body.tenant).toBeNull()
  })

  it('lets a session select the same tenant again and switch to another', async () => {
    const [acme, bolt] = [await tenantId(service.sql, 'acme-print'), await tenantId(service.sql, 'bolt-apparel')]
    const { token, id } = await mintSession(service.sql, { email: 'both@shops.test' })
    for (const [tenant, role] of [
      [acme, 'sales'],
      [acme, 'sales'],
      [bolt, 'viewer'],
      [acme, 'sales'],
    ] as const) {
      const selected = await select(token, tenant)
      expect(selected.status).toBe(200)
      expect(selected.headers.get('x-tenant-id')).toBe(tenant)
      const now = await service.request('GET /v1/auth/session', { token })
      expect(now.headers.get('x-tenant-id')).toBe(tenant)
      expect(now.body).toMatchObject({ tenant: { id: tenant }, role: { code: role } })
      expect(now.body.permissions.includes('deal.write')).toBe(role === 'sales')
    }
    // Selecting the selected tenant again leaves no entry.
    const entries = await service.sql`
      select tenant_id, action from app.audit_log where target_id = ${id} order by occurred_at`
    expect(entries).toEqual(
      [acme, bolt, acme].map((tenant) => ({ tenant_id: tenant, action: 'session.tenant_selected' })),
    )
  })

  it('keeps the session in its tenant when selecting another one fails', async () => {
    const { email, tenant } = await personWithTenant()
    const { token } = await mintSession(service.sql, { email })
    await select(token, tenant)
    for (const id of [await tenantId(service.sql, 'bolt-apparel'), randomUUID()]) {
      const refused = await select(token, id)
      expect(refused.status).toBe(404)
      expect(refused.headers.get('x-tenant-id')).toBe(tenant)
      expect((await service.request('GET /v1/auth/session', { token })).body.tenant.id).toBe(tenant)
    }
  })

  it('ends a session whose tenant was closed after it was selected', async () => {
    const { email, tenant, slug } = await personWithTenant()
    const { token } = await mintSession(service.sql, { email })
    await select(token, tenant)
    await service.sql`update app.tenants set status = 'suspended' where slug = ${slug}`
    expect((await select(token, tenant)).status).toBe(401)
    expect((await select(token, await tenantId(service.sql, 'acme-print'))).status).toBe(401)
  })

  const OBSTACLES: Record<string, (who: { slug: string; user: string }) => PromiseLike<unknown>> = {
    'suspended tenant': ({ slug }) => service.sql`update app.tenants set status = 'suspended' where slug = ${slug}`,
    'cancelled tenant': ({ slug }) => service.sql`update app.tenants set status = 'cancelled' where slug = ${slug}`,
    'deleted tenant': ({ slug }) => service.sql`update app.tenants set deleted_at = now() where slug = ${slug}`,
    'revoked membership': ({ user }) =>
      service.sql`update app.memberships set revoked_at = now() where user_id = ${user}`,
    'outstanding invitation': ({ user }) =>
      service.sql`update app.memberships set accepted_at = null where user_id = ${user}`,
    'foreign tenant': ({ user }) => service.sql`delete from app.memberships where user_id = ${user}`,
  }

  it.each(Object.keys(OBSTACLES))(
    'returns the same 404 for a %s as for an unknown tenant when it is selected',
    async (what) => {
      const person = await personWithTenant()
      const { token, id } = await mintSession(service.sql, { email: person.email })
      await OBSTACLES[what]?.(person)
      const refused = await select(token, person.tenant)
      expect(refused.status).toBe(404)
      expect(indistinguishable(refused)).toEqual(indistinguishable(await select(token, randomUUID())))
      const [row] = await service.sql`select tenant_id from app.sessions where id = ${id}`
      expect(row?.['tenant_id']).toBeNull()
      // Without the obstacle, the same request succeeds.
      await service.sql`update app.tenants set status = 'active', deleted_at = null where slug = ${person.slug}`
      await service.sql`delete from app.memberships where user_id = ${person.user}`
      await service.sql`
      insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
      values (${person.tenant}, ${person.user}, 7, now())`
      expect((await select(token, person.tenant)).status).toBe(200)
    },
  )
})
