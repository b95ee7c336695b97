import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { AgePageQuery, page, pageOf, SearchText } from '#shared/http/page.ts'
import { ok } from '#shared/http/reply.ts'
import { MemberView } from '#shared/membership/member.ts'
import { type MemberStatus, searchMembers } from './queries.ts'

const STATUSES: readonly MemberStatus[] = ['active', 'invited', 'revoked']
const isStatus = (text: string): text is MemberStatus => STATUSES.some((status) => status === text)

const Statuses = v.pipe(
  v.string('must be given once'),
  v.description('Some of `active`, `invited`, `revoked`, with a comma between them.'),
  v.transform((text) => text.split(',')),
  v.array(v.custom<MemberStatus>((text) => isStatus(String(text)), `must be some of ${STATUSES.join(', ')}`)),
)

export const listMembers = endpoint({
  route: 'GET /v1/members',
  access: { permission: 'member.manage' },
  summary: 'The members of the tenant, oldest first',
  query: v.object({ ...AgePageQuery, status: v.optional(Statuses, 'active,invited'), q: v.optional(SearchText, '') }),
  reply: pageOf(MemberView),
  async handle({ query: { status, q, cursor = null, limit }, sql }) {
    const rows = await searchMembers(sql, { statuses: status, q: q.trim() || null, after: cursor, limit })
    return ok(
      page(
        rows,
        limit,
        ({ key }) => key,
        ({ member }) => member,
      ),
    )
  },
})
