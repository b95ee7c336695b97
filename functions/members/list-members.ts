import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { AgePageQuery, page, pageOf, SearchText, someOf } from '#shared/schema/page.ts'
import { ok } from '#shared/http/reply.ts'
import { Member } from '#shared/membership/member.ts'
import { type MemberStatus, searchMembers } from './member-queries.ts'

const STATUSES: readonly MemberStatus[] = ['active', 'invited', 'revoked']

export const listMembers = endpoint({
  route: 'GET /v1/members',
  access: { permission: 'member.manage' },
  summary: 'List the members, oldest first',
  query: v.object({
    ...AgePageQuery,
    status: v.optional(someOf(STATUSES), 'active,invited'),
    q: v.optional(SearchText, ''),
  }),
  reply: pageOf(Member),
  async handle({ query: { status, q, cursor = null, limit }, sql }) {
    const rows = await searchMembers(sql, { statuses: status, q: q.trim() || null, after: cursor, limit })
    return ok(page(rows, limit))
  },
})
