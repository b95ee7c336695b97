import { log } from '#shared/base/log.ts'
import { Problem, type ProblemKind } from '#shared/base/problem.ts'
import { isPermission } from '#shared/identity/permissions.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'
import { hasSteppedUp } from '#shared/identity/has-stepped-up.ts'
import { checkSession, requireTenant, sentCredential } from '#shared/identity/check-session.ts'
import { authenticateForService, type ProvenPrincipal } from '#shared/identity/session-queries.ts'
import type { TenantPrincipal } from '#shared/identity/session.ts'
import type { worker } from './worker.ts'

export interface Question {
  /** Every value of the Authorization headers of the request. */
  readonly authorization: readonly string[]
  /** Null requires no permission: every member of the session's tenant may. */
  readonly permission: string | null
  /** The session must have signed in or stepped up in so many seconds. Null requires nothing. */
  readonly stepUpSeconds: number | null
  readonly requestId: string
}

export type Decision =
  | { readonly outcome: 'allowed'; readonly principal: AllowedPrincipal }
  | { readonly outcome: 'refused'; readonly status: 401 | 403; readonly slug?: ProblemKind }

export type AllowedPrincipal = ReturnType<typeof describe>

/** Decides by the rules of the service's own routes, in one statement. Throws when it cannot decide. */
export async function authorize(
  runtime: RuntimeFor<(typeof worker)['needs'][number]>,
  { authorization, permission, stepUpSeconds, requestId }: Question,
): Promise<Decision> {
  const refused = (reason: string, status: 401 | 403, slug?: ProblemKind): Decision => {
    log.info('authorization refused', { request_id: requestId, status, permission, reason })
    return { outcome: 'refused', status, ...(slug === undefined ? {} : { slug }) }
  }
  const sent = sentCredential(authorization)
  if ('kind' in sent && sent.kind === 'key') return refused('no API key is taken here', 401)
  const principal = 'cause' in sent ? sent : await checkSession(runtime, sent.token, authenticateForService)
  if ('cause' in principal) return refused(principal.reason, 401)
  const known = permission === null || isPermission(permission)
  try {
    requireTenant(principal, known ? permission : null)
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 403) throw error
    return refused(error.message, 403, error.kind ?? undefined)
  }
  // Nobody holds it, an owner either: `*` stands for every permission that exists.
  if (!known) return refused('no permission has this name', 403)
  if (stepUpSeconds !== null && !hasSteppedUp(principal.session, stepUpSeconds))
    return refused('the step-up is too old', 403, 'step-up-required')
  return { outcome: 'allowed', principal: describe(principal) }
}

const describe = ({
  kind,
  session,
  user,
  tenant,
  membershipId,
  role,
  permissions,
  proof,
}: TenantPrincipal & ProvenPrincipal) => ({
  kind,
  session_id: session.id,
  second_factor_at: session.second_factor_at,
  stepped_up_at: session.stepped_up_at,
  user: { id: user.id, email: user.email, full_name: user.full_name },
  tenant: {
    id: tenant.id,
    slug: tenant.slug,
    status: tenant.status,
    timezone: tenant.timezone,
    currency: tenant.currency,
  },
  membership_id: membershipId,
  role: { id: role.id, code: role.code, rank: role.rank },
  permissions,
  /** With it a service on the same database enters the tenant. */
  proof: Buffer.from(proof ?? []).toString('base64url'),
})
