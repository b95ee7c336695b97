import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { AgePageQuery, page, pageOf, SearchText, someOf } from '#shared/schema/page.ts'
import { ok } from '#shared/http/reply.ts'
import { Member } from '#shared/identity/member.ts'
import { type MemberStatus, searchMembers } from './member-queries.ts'

const STATUSES: readonly MemberStatus[] = ['active', 'invited', 'revoked']

export const listMembers = endpoint({
  route: 'GET /v1/members',
  // One call of a function, which checks the ticket: a transaction around it would cost as much as the list.
  access: { permission: 'member.manage', transactions: 'by call' },
  summary: 'List the members, oldest first',
  query: v.object({
    ...AgePageQuery,
    status: v.optional(someOf(STATUSES), 'active,invited'),
    q: v.optional(SearchText, ''),
  }),
  reply: pageOf(Member),
  async handle({ query: { status, q, cursor = null, limit }, principal, call }) {
    const search = { statuses: status, q: q.trim() || null, after: cursor, limit }
    const rows = await searchMembers(call, principal.ticket, search)
    return ok(page(rows, limit))
  },
})
