import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { AgePageQuery, page, pageOf } from '#shared/schema/page.ts'
import { ok } from '#shared/http/reply.ts'
import { Invitation } from '#shared/membership/member.ts'
import { showInvitation } from './issue-invitation.ts'
import { searchInvitations } from './invitation-queries.ts'

export const listInvitations = endpoint({
  route: 'GET /v1/members/invitations',
  access: { permission: 'member.manage' },
  summary: 'List the open invitations, oldest first',
  query: v.object({ ...AgePageQuery }),
  reply: pageOf(Invitation),
  async handle({ query: { cursor = null, limit }, sql }) {
    const rows = await searchInvitations(sql, { after: cursor, limit })
    return ok(
      page(
        rows.map(({ item, key }) => ({ item: showInvitation(item), key })),
        limit,
      ),
    )
  },
})
