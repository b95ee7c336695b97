import { STATUS_CODES } from 'node:http'

/** The kinds of failure that have a page of their own below PROBLEM_BASE_URL; the rest are `about:blank`. */
export type ProblemKind =
  | 'validation-failed'
  | 'malformed-json'
  | 'token-invalid'
  | 'tenant-not-selected'
  | 'already-member'
  | 'last-owner'
  | 'password-rejected'
  | 'vendor-rejected'
  | 'vendor-unreachable'
  | 'rate-limited'
  | 'dependency-unavailable'

/** One field of a request that was refused. The detail never repeats a value that was sent. */
export interface FieldError {
  readonly pointer: string
  readonly detail: string
}

interface Words {
  readonly slug?: ProblemKind
  readonly detail?: string
  readonly members?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  /** Why, for the log alone. */
  readonly reason?: string
  readonly cause?: unknown
}

/**
 * A failure with the words that the client may read and, apart from them, the reason that only the log gets. Throw it
 * from anywhere: the problem-details middleware alone decides how it looks (RFC 9457).
 */
export class Problem extends Error {
  override name = 'Problem'
  readonly status: number
  readonly words: Words

  constructor(status: number, words: Words = {}) {
    super(words.reason ?? words.slug ?? STATUS_CODES[status] ?? 'failure', { cause: words.cause })
    this.status = status
    this.words = words
  }
}

/** The response body of a failure. `type` and `instance` are absolute; `detail` is left out where nothing may be said. */
export interface ProblemBody {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail?: string
  readonly instance?: string
  readonly [member: string]: unknown
}

const TITLES: Readonly<Record<ProblemKind, string>> = {
  'validation-failed': 'The request has fields that are not valid',
  'malformed-json': 'The body is not acceptable JSON',
  'token-invalid': 'The token is not valid',
  'tenant-not-selected': 'No tenant is selected',
  'already-member': 'Already a member',
  'last-owner': 'The last owner must stay',
  'password-rejected': 'The password is not acceptable',
  'vendor-rejected': 'The vendor refused the credentials',
  'vendor-unreachable': 'The vendor cannot be reached',
  'rate-limited': 'Too many attempts',
  'dependency-unavailable': 'Temporarily unavailable',
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Renders a failure for the request with this id. */
export function problemBody(problem: Problem, requestId: string, baseUrl: string): ProblemBody {
  const { slug, detail, members } = problem.words
  return {
    type: slug === undefined ? 'about:blank' : `${baseUrl}/${slug}`,
    title: slug === undefined ? (STATUS_CODES[problem.status] ?? 'Error') : TITLES[slug],
    status: problem.status,
    ...(detail === undefined ? {} : { detail }),
    ...members,
    ...(UUID.test(requestId) ? { instance: `urn:uuid:${requestId}` } : {}),
  }
}

/** 401, the same bytes for every reason. `tokenSent`: whether the request carried a token that was refused (RFC 6750, 3). */
export const unauthorized = (reason: string, tokenSent = false): Problem =>
  new Problem(401, {
    reason,
    headers: { 'www-authenticate': tokenSent ? 'Bearer realm="api", error="invalid_token"' : 'Bearer realm="api"' },
  })

/** 403, which never says what is missing. */
export const forbidden = (reason: string): Problem => new Problem(403, { reason })

/** 404, the same for what does not exist and for what belongs to another tenant. */
export const notFound = (reason: string): Problem => new Problem(404, { reason })

/** 422 with the fields at fault. */
export const invalid = (errors: readonly FieldError[], slug: ProblemKind = 'validation-failed'): Problem =>
  new Problem(422, { slug, members: { errors }, reason: `${slug}: ${errors.map(({ pointer }) => pointer).join(' ')}` })

/** 503: a dependency, and not the request, is at fault. Never a 401, on which clients drop their session. */
export const unavailable = (cause: unknown, members: Readonly<Record<string, unknown>> = {}): Problem =>
  new Problem(503, { slug: 'dependency-unavailable', members, headers: { 'retry-after': '1' }, cause })
