import { type AuditContext, requestSource } from '#shared/audit/record-audit.ts'
import type { CallByTicket } from '#shared/db/calls.ts'
import { rateLimited } from '#shared/http/rate-limited.ts'
import type { Invitation } from '#shared/identity/member.ts'
import { forbidden, invalid, notFound, Problem } from '#shared/base/problem.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'
import { hashToken } from '#shared/secret/secret.ts'
import type { TenantPrincipal } from '#shared/identity/session.ts'
import { mailToken, newNonce } from '#shared/identity/token.ts'
import { type InvitationRefusal, type NewInvitation, issueInvitation } from './invitation-queries.ts'
import { recipientLimit } from '#shared/http/recipient-limit.ts'
import { tenantLimit } from './invite-limits.ts'

/** What issues an invitation needs. */
type InviterContext = AuditContext & {
  readonly principal: TenantPrincipal
  readonly runtime: RuntimeFor<'pepper' | 'mail-key'>
  readonly call: CallByTicket
}

/**
 * Creates or renews an invitation, enqueues its mail and records both, in one transaction. Sends no mail to a recipient who got
 * enough today: the response must not tell a tenant what others send. Throws the problem of a refusal.
 */
export async function invite(
  context: InviterContext,
  { email, role, language, stepUpSeconds }: Pick<NewInvitation, 'email' | 'role' | 'language' | 'stepUpSeconds'>,
): Promise<Invitation> {
  const { runtime, principal, call } = context
  const { config, pepper, mailKey } = runtime
  const { ttlSeconds, resendSeconds } = config.invite
  const nonce = newNonce()
  const ofTenant = tenantLimit({ config, pepper, principal })
  const issued = await issueInvitation(call, principal.ticket, {
    email,
    role,
    language,
    nonce,
    tokenHash: hashToken(pepper, mailToken(mailKey, 'invite', nonce)),
    ttlSeconds,
    resendSeconds,
    tenantLimit: ofTenant,
    recipientLimit: recipientLimit(runtime, email),
    source: requestSource(context),
    stepUpSeconds,
  })
  if (issued.refusal !== null) throw problemOf(issued.refusal, issued.wait_seconds, { ofTenant, resendSeconds })
  await Promise.all([
    // Also when no mail was added, so that response time does not reveal it.
    call.invoke('deliver-mail', issued.mailed ? undefined : 'rehearsal'),
    call.invoke('publish-events'),
  ])
  return {
    id: issued.id,
    email: issued.email ?? email,
    role: issued.role,
    status: 'pending',
    invited_by: principal.user.id,
    created_at: issued.created_at,
    expires_at: issued.expires_at,
    bounced_at: issued.bounced_at,
  }
}

function problemOf(
  refusal: InvitationRefusal,
  retryAfterSeconds: number,
  { ofTenant, resendSeconds }: { ofTenant: Limit; resendSeconds: number },
): Problem {
  switch (refusal) {
    case 'tenant-limit':
      return rateLimited({ limit: ofTenant, retryAfterSeconds })
    case 'no-invitation':
      return notFound('no open invitation with this id')
    case 'no-role':
      return invalid([{ pointer: '#/role', code: 'unknown', kind: 'a role' }])
    case 'role-beyond':
      return forbidden('the principal may not give the role of the invitation')
    case 'invitation-beyond':
      return forbidden('the principal may not give the role of the open invitation')
    case 'stopped':
      return new Problem('invitations-stopped', { detail: 'Too many invitations of the tenant came back.' })
    case 'already-member':
      return new Problem('already-member', { detail: 'This person is already a member of the tenant.' })
    case 'too-soon':
      return rateLimited({
        limit: { name: 'invite-resend', limit: 1, windowSeconds: resendSeconds },
        retryAfterSeconds,
      })
  }
}
