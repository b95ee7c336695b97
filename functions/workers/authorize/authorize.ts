import { log } from '#shared/base/log.ts'
import { forbidden, limitHeaders, Problem, type ProblemKind } from '#shared/base/problem.ts'
import { authenticateKeyForService, isLimited, type ProvenKeyPrincipal } from '#shared/identity/api-key-queries.ts'
import { checkKey } from '#shared/identity/check-key.ts'
import { isPermission, type Permission } from '#shared/identity/permissions.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'
import { hasSteppedUp } from '#shared/identity/has-stepped-up.ts'
import { checkSession, requireTenant, sentCredential } from '#shared/identity/check-session.ts'
import { authenticateForService, type ProvenPrincipal } from '#shared/identity/session-queries.ts'
import type { PrincipalKind } from '#shared/identity/session.ts'
import { type AllowedPrincipal, describeKey, describeSession } from './describe.ts'
import type { worker } from './worker.ts'

export interface Question {
  /** Every value of the Authorization headers of the request. */
  readonly authorization: readonly string[]
  /** Null requires no permission: every member of the session's tenant may, and no API key. */
  readonly permission: string | null
  /** Who may call. A live credential of another kind gets a 403. */
  readonly principals: readonly PrincipalKind[]
  /** The session must have signed in or stepped up in so many seconds. Null requires nothing. A key never steps up. */
  readonly stepUpSeconds: number | null
  readonly requestId: string
}

export type Decision =
  | { readonly outcome: 'allowed'; readonly principal: AllowedPrincipal }
  | { readonly outcome: 'refused'; readonly status: 401 | 403; readonly slug?: ProblemKind }
  /** An API key sent too many requests. The headers say when it may send the next one. */
  | { readonly outcome: 'refused'; readonly status: 429; readonly headers: Readonly<Record<string, string>> }

type Runtime = RuntimeFor<(typeof worker)['needs'][number]>

/** Decides by the rules of the service's own routes, in one statement. Throws when it cannot decide. */
export async function authorize(runtime: Runtime, question: Question): Promise<Decision> {
  const { authorization, permission, requestId } = question
  const logged = (status: number, reason: string) =>
    log.info('authorization refused', { request_id: requestId, status, permission, reason })
  const found = await check(runtime, authorization)
  if ('cause' in found) {
    logged(401, found.reason)
    return { outcome: 'refused', status: 401 }
  }
  if (isLimited(found)) {
    logged(429, 'the API key is over its limit')
    return { outcome: 'refused', status: 429, headers: limitHeaders(found.limit, found.retryAfterSeconds) }
  }
  try {
    return { outcome: 'allowed', principal: permit(found, question) }
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 403) throw error
    logged(403, error.message)
    return { outcome: 'refused', status: 403, ...(error.kind === null ? {} : { slug: error.kind }) }
  }
}

async function check(runtime: Runtime, authorization: readonly string[]) {
  const sent = sentCredential(authorization)
  if ('cause' in sent) return sent
  return sent.kind === 'key'
    ? checkKey(runtime, sent.token, authenticateKeyForService)
    : checkSession(runtime, sent.token, authenticateForService)
}

/** Returns the principal as another service sees it. Throws the 403. */
function permit(
  principal: ProvenPrincipal | ProvenKeyPrincipal,
  { permission, principals, stepUpSeconds }: Question,
): AllowedPrincipal {
  if (!principals.includes(principal.kind)) throw forbidden(`no ${principal.kind} may call`)
  requireTenant(principal, knownOf(permission))
  // Nobody holds it, an owner either: `*` stands for every permission that exists.
  if (permission !== null && !isPermission(permission)) throw forbidden('no permission has this name')
  if (principal.kind === 'session') {
    if (stepUpSeconds !== null && !hasSteppedUp(principal.session, stepUpSeconds)) throw new Problem('step-up-required')
    return describeSession(principal)
  }
  if (permission === null) throw forbidden('an API key is no member')
  if (stepUpSeconds !== null) throw forbidden('an API key never steps up')
  return describeKey(principal)
}

const knownOf = (permission: string | null): Permission | null =>
  permission !== null && isPermission(permission) ? permission : null
