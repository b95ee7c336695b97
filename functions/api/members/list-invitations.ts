import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { AgePageQuery, page, pageOf } from '#shared/schema/page.ts'
import { ok } from '#shared/http/reply.ts'
import { IncludedRoles, IncludeRoles } from '#shared/identity/listed-role.ts'
import { searchRoles } from '#shared/identity/role-queries.ts'
import { Invitation } from '#shared/identity/member.ts'
import { showInvitation } from './show-invitation.ts'
import { searchInvitations } from './invitation-queries.ts'

export const listInvitations = endpoint({
  route: 'GET /v1/members/invitations',
  access: { permission: 'member.manage' },
  summary: 'List the open invitations, oldest first',
  query: v.object({ ...AgePageQuery, include: IncludeRoles }),
  reply: v.object({ ...pageOf(Invitation).entries, roles: IncludedRoles }),
  async handle({ query: { cursor = null, limit, include }, sql }) {
    const [rows, roles] = await Promise.all([
      searchInvitations(sql, { after: cursor, limit }),
      include === 'roles' ? searchRoles(sql) : undefined,
    ])
    const shown = rows.map(({ item, key }) => ({ item: showInvitation(item), key }))
    return ok({ ...page(shown, limit), roles })
  },
})
