import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { ListedRole } from '#shared/identity/listed-role.ts'
import { searchRoles } from '#shared/identity/role-queries.ts'

export const listRoles = endpoint({
  route: 'GET /v1/roles',
  access: { permission: null },
  summary: 'The roles of the platform and those of the tenant, the highest rank first',
  reply: v.object({ data: v.array(ListedRole) }),
  async handle({ sql }) {
    return ok({ data: await searchRoles(sql) })
  },
})
