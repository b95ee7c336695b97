import { type FieldFault, fieldError } from '#shared/schema/field-error.ts'
import { UUID_IN_ANY_CASE } from '#shared/schema/uuid.ts'

/** The HTTP statuses of failures, with their reason phrases. Importing `node:http` for them would slow every cold start. */
export const REASON_PHRASES = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition Failed',
  413: 'Payload Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Entity',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
} as const

export type FailureStatus = keyof typeof REASON_PHRASES

/**
 * Every kind of problem that has a page of its own below PROBLEM_BASE_URL; all other failures are `about:blank`. The API
 * document and the tests are derived from this table: a new kind is one line here.
 */
export const PROBLEMS = {
  'validation-failed': { status: 422, title: 'Invalid request' },
  'malformed-json': { status: 400, title: 'Malformed JSON' },
  'token-invalid': { status: 400, title: 'Invalid or expired link' },
  'tenant-not-selected': { status: 403, title: 'No tenant selected' },
  'already-member': { status: 409, title: 'Existing member' },
  'invitations-stopped': { status: 409, title: 'Invitations stopped' },
  'role-exists': { status: 409, title: 'Existing role' },
  'role-in-use': { status: 409, title: 'Role in use' },
  'role-limit': { status: 409, title: 'Too many roles' },
  'key-exists': { status: 409, title: 'Existing API key' },
  'key-limit': { status: 409, title: 'Too many API keys' },
  'key-ended': { status: 409, title: 'Ended API key' },
  'key-rotated': { status: 409, title: 'Rotated API key' },
  'factor-rejected': { status: 422, title: 'Second factor rejected' },
  'sign-in-expired': { status: 400, title: 'Expired sign-in' },
  'step-up-required': { status: 403, title: 'Step-up required' },
  'second-factor-required': { status: 403, title: 'Second factor required' },
  'last-factor': { status: 409, title: 'Last second factor' },
  'draft-expired': { status: 409, title: 'Expired draft' },
  'factor-limit': { status: 409, title: 'Too many passkeys' },
  'passkey-exists': { status: 409, title: 'Existing passkey' },
  'last-owner': { status: 409, title: 'Last owner' },
  'password-rejected': { status: 422, title: 'Unacceptable password' },
  'sync-active': { status: 409, title: 'Sync in progress' },
  'vendor-rejected': { status: 422, title: 'Credentials refused by the vendor' },
  'vendor-unreachable': { status: 503, title: 'Vendor unreachable' },
  'currency-in-use': { status: 409, title: 'Currency in use' },
  'deal-locked': { status: 409, title: 'Deal locked' },
  'precondition-failed': { status: 412, title: 'Precondition failed' },
  'position-expired': { status: 410, title: 'Expired position' },
  'idempotency-key-reused': { status: 409, title: 'Reused idempotency key' },
  'rate-limited': { status: 429, title: 'Too many attempts' },
  'dependency-unavailable': { status: 503, title: 'Service temporarily unavailable' },
} as const satisfies Readonly<Record<string, { readonly status: FailureStatus; readonly title: string }>>

export type ProblemKind = keyof typeof PROBLEMS

interface ProblemOptions {
  readonly detail?: string
  readonly members?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  /** Why it failed. Goes to the log only. */
  readonly reason?: string
  readonly cause?: unknown
}

/** A failure as a client sees it. `kind` is null for `about:blank`. */
export interface Failure {
  readonly status: FailureStatus
  readonly kind: ProblemKind | null
  readonly options: Pick<ProblemOptions, 'detail' | 'members'>
}

/**
 * A failure: what the client may read, and separately the reason that only the log gets. Throw it from anywhere. Only the
 * problem-details middleware decides how it looks (RFC 9457).
 */
export class Problem extends Error implements Failure {
  override name = 'Problem'
  readonly status: FailureStatus
  readonly kind: ProblemKind | null
  readonly options: ProblemOptions

  /** A kind has the status of the table; a bare status is `about:blank`. */
  constructor(what: ProblemKind | FailureStatus, options: ProblemOptions = {}) {
    const kind = typeof what === 'string' ? what : null
    const status = typeof what === 'string' ? PROBLEMS[what].status : what
    super(options.reason ?? kind ?? REASON_PHRASES[status], { cause: options.cause })
    this.status = status
    this.kind = kind
    this.options = options
  }
}

/** The response body of a failure. `type` and `instance` are absolute URIs. */
export interface ProblemBody {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail?: string
  readonly instance?: string
  readonly [member: string]: unknown
}

/** The `type` of a problem. */
export const problemType = (kind: ProblemKind | null, baseUrl: string): string =>
  kind === null ? 'about:blank' : `${baseUrl}/${kind}`

/** The `title` of a problem. */
export const problemTitle = ({ kind, status }: Pick<Failure, 'kind' | 'status'>): string =>
  kind === null ? REASON_PHRASES[status] : PROBLEMS[kind].title

/**
 * Whether problems of this status may carry a `detail`: a refusal of access never says why, and a failure of the service
 * is nothing that the client can correct.
 */
export const mayHaveDetail = (status: FailureStatus): boolean => status < 500 && (status === 400 || status > 405)

/** Renders a failure of the request with this id. */
export function problemBody(failure: Failure, requestId: string, baseUrl: string): ProblemBody {
  const { detail, members } = failure.options
  return {
    type: problemType(failure.kind, baseUrl),
    title: problemTitle(failure),
    status: failure.status,
    ...(detail === undefined ? {} : { detail }),
    ...members,
    ...(UUID_IN_ANY_CASE.test(requestId) ? { instance: `urn:uuid:${requestId}` } : {}),
  }
}

/** A 401, byte for byte the same for every reason. `tokenSent`: the request carried a token, which was refused (RFC 6750, 3). */
export const unauthorized = (reason: string, tokenSent = false): Problem =>
  new Problem(401, {
    reason,
    headers: { 'www-authenticate': tokenSent ? 'Bearer realm="api", error="invalid_token"' : 'Bearer realm="api"' },
  })

/** The challenge of a route for services (RFC 7617). */
export const SERVICE_CHALLENGE = 'Basic realm="api", charset="UTF-8"'

/** The 401 of a route for services, the same for every reason. */
export const unauthorizedService = (reason: string): Problem =>
  new Problem(401, { reason, headers: { 'www-authenticate': SERVICE_CHALLENGE } })

/** A 403. It never says what is missing. */
export const forbidden = (reason: string): Problem => new Problem(403, { reason })

/** A 404, the same for a resource that does not exist and for one of another tenant. */
export const notFound = (reason: string): Problem => new Problem(404, { reason })

type InvalidKind = { [Kind in ProblemKind]: (typeof PROBLEMS)[Kind]['status'] extends 422 ? Kind : never }[ProblemKind]

/** A 422 with the invalid fields. */
export const invalid = (faults: readonly FieldFault[], kind: InvalidKind = 'validation-failed'): Problem =>
  new Problem(kind, {
    members: { errors: faults.map(fieldError) },
    reason: `${kind}: ${faults.map(({ pointer }) => pointer).join(' ')}`,
  })

/** The headers of a 429: https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/11/ */
export const limitHeaders = (
  { name, limit, windowSeconds }: { readonly name: string; readonly limit: number; readonly windowSeconds: number },
  retryAfterSeconds: number,
): Readonly<Record<string, string>> => ({
  'retry-after': String(retryAfterSeconds),
  ratelimit: `"${name}";r=0;t=${retryAfterSeconds}`,
  'ratelimit-policy': `"${name}";q=${limit};w=${windowSeconds}`,
})

/** A 429. */
export const tooMany = (headers: Readonly<Record<string, string>>, reason = 'rate-limited'): Problem =>
  new Problem('rate-limited', { detail: 'Wait before you try again.', reason, headers })

/** A 503: a dependency failed. Never a 401, on which clients discard their session. */
export const unavailable = (cause: unknown, members: Readonly<Record<string, unknown>> = {}): Problem =>
  new Problem('dependency-unavailable', { members, headers: { 'retry-after': '1' }, cause })
