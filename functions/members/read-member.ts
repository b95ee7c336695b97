import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Member } from '#shared/membership/member.ts'
import { notFound } from '#shared/problem.ts'
import { findMember } from './member-queries.ts'

export const readMember = endpoint({
  route: 'GET /v1/members/{id}',
  access: { permission: 'member.manage' },
  summary: 'A member, or an invited person by the id of the invitation',
  reply: Member,
  async handle({ params, sql }) {
    const found = await findMember(sql, params.id)
    if (found === null) throw notFound('no member with this id')
    return ok(found)
  },
})
