import { endpoint } from '#shared/http/endpoint.ts'
import { notFound } from '#shared/base/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { Invitation } from '#shared/identity/member.ts'
import { invite } from './invite.ts'
import { tenantLimit } from './invite-limits.ts'
import { findInvitation } from './invitation-queries.ts'

export const resendInvitation = endpoint({
  route: 'POST /v1/members/invitations/{id}/resend',
  // As for `inviteMember`.
  access: { permission: 'member.manage', transactions: 'by call' },
  summary: 'Resend an open invitation with a new link',
  needs: ['mail-key', 'invoke:deliver-mail'],
  reply: Invitation,
  problems: ['invitations-stopped'],
  limits: (input) => [tenantLimit(input)],
  async handle(context) {
    const found = await context.sql.read((sql) => findInvitation(sql, context.params.id))
    if (found === null) throw notFound('no open invitation with this id')
    return ok(await invite(context, { email: found.email, role: null, language: null, stepUpSeconds: null }))
  },
})
