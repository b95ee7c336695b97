import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Id } from '#shared/schema/id.ts'
import { Role } from '#shared/role/role.ts'
import { Tenant } from '#shared/tenant/tenant.ts'
import { listTenants as list } from './session-queries.ts'

const { id, slug, legal_name, status } = Tenant.entries
const { code, label, rank } = Role.entries

export const listTenants = endpoint({
  route: 'GET /v1/auth/tenants',
  access: 'session',
  summary: 'The tenants that the caller may act for',
  reply: v.object({
    data: v.array(
      v.object({
        membership_id: Id,
        tenant: v.object({ id, slug, legal_name, status }),
        role: v.object({ code, label, rank }),
      }),
    ),
  }),
  async handle({ principal, sql }) {
    const choices = await list(sql, principal.session.id)
    return ok({
      data: choices.map((choice) => ({
        membership_id: choice.membership_id,
        tenant: { id: choice.tenant_id, slug: choice.slug, legal_name: choice.legal_name, status: choice.status },
        role: { code: choice.role_code, label: choice.role_label, rank: choice.role_rank },
      })),
    })
  },
})
