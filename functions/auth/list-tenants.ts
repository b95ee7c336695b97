import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { listTenants as list } from './queries.ts'

export const listTenants = endpoint({
  route: 'GET /v1/auth/tenants',
  access: 'session',
  async handle({ caller, sql }) {
    const choices = await list(sql, caller.session.id)
    return ok({
      data: choices.map((choice) => ({
        membership_id: choice.membership_id,
        tenant: { id: choice.tenant_id, slug: choice.slug, legal_name: choice.legal_name, status: choice.status },
        role: { code: choice.role_code, label: choice.role_label, rank: choice.role_rank },
      })),
    })
  },
})
