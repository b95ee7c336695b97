import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Invitation } from '#shared/identity/member.ts'
import { RoleCode } from '#shared/identity/role-code.ts'
import { Email } from '#shared/schema/email.ts'
import { Language } from '#shared/schema/language.ts'
import { tenantLimit } from './invite-limits.ts'
import { invite } from './invite.ts'

export const inviteMember = endpoint({
  route: 'POST /v1/members/invite',
  // One call of a function, which checks the session and the role again under locks.
  access: { permission: 'member.manage', transactions: 'by call', stepUp: true },
  summary: 'Invite a person by email',
  needs: ['mail-key', 'invoke:deliver-mail'],
  body: v.object({
    email: Email,
    role: RoleCode,
    language: v.pipe(
      v.nullish(Language, null),
      v.description("Of the mail, for a person without an account. Without it, the inviter's."),
    ),
  }),
  reply: Invitation,
  problems: ['already-member', 'invitations-stopped'],
  limits: (input) => [tenantLimit(input)],
  async handle(context) {
    return ok(await invite(context, { ...context.body, stepUpSeconds: context.runtime.config.factor.stepUpSeconds }))
  },
})
