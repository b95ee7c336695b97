import { type InvokingClient, openDoor } from './door.ts'
import { type Guard, guardOf } from './guard-of.ts'

export type { InvokingClient } from './door.ts'
export type { AlbEvent, GatewayEvent, HttpEvent, RestEvent } from './event.ts'
export type { AuthorizeOptions, Guard, GuardMiddleware, GuardedRequest } from './guard-of.ts'
export { holds, type Permission } from './permission.ts'
export type { AnyPrincipal, KeyPrincipal, Principal, PrincipalKind, PrincipalOptions } from './principal.ts'
export { type ProxyResponse, Refusal } from './refusal.ts'
export type { PrincipalOf, Requirement, Routes } from './routes.ts'
export type { StepUpOptions } from './step-up.ts'
export { TenantRefused } from './tenant-transaction.ts'

export interface GuardOptions {
  /** Name or ARN of Tenantry's function `authorize`, with its alias. TENANTRY_AUTHORIZE_FUNCTION by default. */
  readonly functionName?: string | undefined
  /** How long a request waits for the decision before it gets a 503. 2000 by default. */
  readonly timeoutMs?: number
  /**
   * 0 by default: each request is decided anew, so a revocation holds from the next request on. Up to 5: a GET may be
   * allowed for so many seconds after a revocation.
   */
  readonly maxStaleSeconds?: number
  /** The beginning of the `type` of a problem. TENANTRY_PROBLEM_BASE_URL by default. */
  readonly problemBaseUrl?: string
  /** A client of your own, for another region or account. Without one the guard needs no SDK in a Lambda. */
  readonly client?: InvokingClient
}

const DEFAULT_TIMEOUT_MS = 2000
const MOST_STALE_SECONDS = 5

/** Creates the guard of a service. Create it once, outside of the handler. Throws when an option is missing or out of range. */
export function createGuard(options: GuardOptions = {}): Guard {
  const {
    functionName = process.env['TENANTRY_AUTHORIZE_FUNCTION'] ?? '',
    timeoutMs = DEFAULT_TIMEOUT_MS,
    maxStaleSeconds = 0,
    problemBaseUrl,
    client,
  } = options
  if (functionName === '') throw new Error('createGuard needs a functionName, or TENANTRY_AUTHORIZE_FUNCTION')
  if (!(timeoutMs > 0)) throw new RangeError('timeoutMs must be more than 0')
  if (!(maxStaleSeconds >= 0 && maxStaleSeconds <= MOST_STALE_SECONDS))
    throw new RangeError(`maxStaleSeconds must be from 0 to ${MOST_STALE_SECONDS}`)
  return guardOf(openDoor({ functionName, timeoutMs, client }), { maxStaleSeconds, problemBaseUrl })
}
