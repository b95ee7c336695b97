import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { etagOf } from '#shared/http/etag.ts'
import { ok } from '#shared/http/reply.ts'
import { Member } from '#shared/identity/member.ts'
import { notFound } from '#shared/base/problem.ts'
import { IncludedRoles, IncludeRoles } from '#shared/identity/listed-role.ts'
import { searchRoles } from '#shared/identity/role-queries.ts'
import { findMember } from './member-queries.ts'

export const readMember = endpoint({
  route: 'GET /v1/members/{id}',
  access: { permission: 'member.manage' },
  summary: 'A member, or an invited person by the id of the invitation',
  description: 'The ETag is that of the member, without `roles`.',
  query: v.object({ include: IncludeRoles }),
  reply: v.object({ ...Member.entries, roles: IncludedRoles }),
  etag: true,
  async handle({ params, query, sql }) {
    const [found, roles] = await Promise.all([
      findMember(sql, params.id),
      query.include === 'roles' ? searchRoles(sql) : undefined,
    ])
    if (found === null) throw notFound('no member with this id')
    return ok({ ...found, roles }, { headers: { etag: etagOf(found) } })
  },
})
