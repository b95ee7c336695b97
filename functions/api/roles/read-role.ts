import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { okWithEtag } from '#shared/http/etag.ts'
import { notFound } from '#shared/base/problem.ts'
import { ListedRole } from '#shared/identity/listed-role.ts'
import { searchRoles } from '#shared/identity/role-queries.ts'
import { IntegerId } from '#shared/schema/id.ts'

export const readRole = endpoint({
  route: 'GET /v1/roles/{id}',
  params: v.object({ id: IntegerId }),
  access: { permission: null },
  summary: 'A role of the platform or of the tenant',
  reply: ListedRole,
  etag: true,
  async handle({ params, sql }) {
    const [role] = await searchRoles(sql, Number(params.id))
    if (role === undefined) throw notFound('no role with this id')
    return okWithEtag(role)
  },
})
