import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Id } from '#shared/schema/id.ts'
import { Timestamp, timestampText } from '#shared/schema/timestamp.ts'
import { AskedFactor, askedFactor } from '#shared/identity/asked-factor.ts'
import { Role } from '#shared/identity/role.ts'
import { Tenant } from '#shared/identity/tenant.ts'
import { listTenants as list } from './session-queries.ts'

const { id, slug, legal_name, status } = Tenant.entries
const { code, label, rank } = Role.entries

export const listTenants = endpoint({
  route: 'GET /v1/auth/tenants',
  access: 'session',
  summary: 'List the tenants of the user, by legal name',
  description:
    'A suspended tenant is listed, and cannot be selected. `selected_at` is when the user selected the tenant last. ' +
    '`second_factor` is null where the role needs none; `satisfied`: this session has proven one.',
  reply: v.object({
    data: v.array(
      v.object({
        membership_id: Id,
        tenant: v.object({ id, slug, legal_name, status }),
        role: v.object({ code, label, rank }),
        selected_at: v.nullable(Timestamp),
        second_factor: v.nullable(AskedFactor),
      }),
    ),
  }),
  async handle({ principal, call }) {
    const options = await list(call, principal.ticket)
    return ok({
      data: options.map((option) => ({
        membership_id: option.membership_id,
        tenant: { id: option.tenant_id, slug: option.slug, legal_name: option.legal_name, status: option.status },
        role: { code: option.role_code, label: option.role_label, rank: option.role_rank },
        selected_at: option.selected_at === null ? null : timestampText(option.selected_at),
        second_factor: askedFactor(option.second_factor_from, option.is_two_factor),
      })),
    })
  },
})
