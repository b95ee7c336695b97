import type { JsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import type { Config } from '#shared/base/config.ts'
import { isOpenToKeys, isTenantAccess, requiresPrincipal, requiresSession } from '#shared/http/access.ts'
import type { DeclaredProblem, Endpoint } from '#shared/http/endpoint.ts'
import { takesKey } from '#shared/http/once.ts'
import { SESSION_HEADER } from '#shared/identity/session-header.ts'
import { FIELD_ERRORS as FIELD_ERROR_DETAILS, fieldError } from '#shared/schema/field-error.ts'
import { FIXED_HEADERS } from '#shared/http/fixed-headers.ts'
import {
  type FailureStatus,
  mayHaveDetail,
  type ProblemKind,
  problemBody,
  PROBLEMS,
  problemType,
  REASON_PHRASES,
  SERVICE_CHALLENGE,
} from '#shared/base/problem.ts'
import { PROBLEM_ACTIONS } from '#shared/base/problem-actions.ts'

type Schema = v.GenericSchema<unknown, unknown>

/** A part of the API document. */
export type Part = Readonly<Record<string, unknown>>

/** A failure of an operation. Without a kind it is `about:blank`. */
export interface Refusal {
  readonly status: FailureStatus
  readonly kind?: ProblemKind
  readonly members?: Schema
}

const EXAMPLE_ID = '0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b'

/**
 * Returns the failure responses of an endpoint, by status. Operations share a response under its name. `gateway` are the
 * failures that API Gateway makes on any route.
 */
export function failureResponses(
  endpoint: Endpoint,
  options: { gateway: readonly Refusal[]; config: Config; jsonSchema: (schema: Schema) => JsonSchema },
) {
  const byStatus = Map.groupBy(refusalsOf(endpoint, options.gateway), ({ status }) => status)
  return [...byStatus]
    .toSorted(([a], [b]) => a - b)
    .map(([status, refusals]) => {
      const kinds = [...new Set(refusals.map(({ kind = null }) => kind))].toSorted((a, b) => compare(a ?? '', b ?? ''))
      const members: Record<string, unknown> = {}
      for (const refusal of refusals) {
        if (refusal.members !== undefined) Object.assign(members, options.jsonSchema(refusal.members).properties)
      }
      return {
        status,
        name: responseName(status, kinds, Object.keys(members)),
        response: problemResponse(status, { kinds, members, baseUrl: options.config.problemBaseUrl }),
      }
    })
}

/** Compares texts by code units, independent of the locale. */
export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function refusalsOf(endpoint: Endpoint, gateway: readonly Refusal[]): Refusal[] {
  const { access, path, body, limits, problems, stepUp } = endpoint
  return [
    ...gateway,
    toRefusal(500),
    toRefusal('dependency-unavailable'),
    ...(access === 'anyone' ? [] : [toRefusal(401)]),
    // An API key gets it on a route for sessions.
    ...(requiresPrincipal(access) ? [toRefusal(403)] : []),
    ...(isTenantAccess(access) ? [toRefusal('tenant-not-selected')] : []),
    ...(stepUp === null ? [] : [toRefusal('step-up-required')]),
    ...(path.includes('{') ? [toRefusal(404)] : []),
    // Of a query with an unknown key, on every route.
    toRefusal('validation-failed'),
    ...(takesKey(endpoint) ? [toRefusal('idempotency-key-reused')] : []),
    ...(body === null ? [] : [toRefusal('malformed-json'), toRefusal(413), toRefusal(415)]),
    ...(limits === null && !isOpenToKeys(endpoint) ? [] : [toRefusal('rate-limited')]),
    // Of a condition, on every route.
    toRefusal('precondition-failed'),
    ...problems.map(toRefusal),
  ]
}

function toRefusal(problem: DeclaredProblem | FailureStatus): Refusal {
  if (typeof problem === 'number') return { status: problem }
  if (typeof problem === 'string') return { status: PROBLEMS[problem].status, kind: problem }
  return { status: PROBLEMS[problem.kind].status, ...problem }
}

const pascal = (words: string): string => words.replace(/(?:^|[ -])(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Returns a name that is unique to the status, kinds and members of a response. */
function responseName(status: FailureStatus, kinds: readonly (string | null)[], members: readonly string[]): string {
  const plain = pascal(REASON_PHRASES[status])
  const names = kinds.map((kind) => (kind === null ? plain : pascal(kind))).join('Or')
  const extra = members.length === 0 ? '' : `With${members.map(pascal).join('And')}`
  return `${kinds.includes(null) ? '' : plain}${names}${extra}`
}

function problemResponse(
  status: FailureStatus,
  { kinds, members, baseUrl }: { kinds: readonly (ProblemKind | null)[]; members: Part; baseUrl: string },
): Part {
  const errors = status === 422 ? { errors: [fieldError({ pointer: '#/email', code: 'not-an-email-address' })] } : {}
  const example = (kind: ProblemKind | null) =>
    problemBody({ status, kind, options: { members: errors } }, EXAMPLE_ID, baseUrl)
  return {
    description: kinds
      .map((kind) => (kind === null ? REASON_PHRASES[status] : `\`${kind}\`: ${PROBLEM_ACTIONS[kind]}`))
      .join('\n\n'),
    headers: {
      ...COMMON_HEADERS,
      'cache-control': header('NoStore'),
      ...(status === 401
        ? { 'x-amzn-remapped-www-authenticate': header('WwwAuthenticate') }
        : { 'x-tenant-id': header('TenantIdIfAny'), [SESSION_HEADER]: header('SessionIfPreferred') }),
      ...(status === 429 ? { ratelimit: header('RateLimit'), 'ratelimit-policy': header('RateLimitPolicy') } : {}),
      ...([429, 502, 503, 504].includes(status) ? { 'retry-after': header('RetryAfter') } : {}),
    },
    content: {
      'application/problem+json': {
        schema: {
          type: 'object',
          properties: {
            type: { enum: kinds.map((kind) => problemType(kind, baseUrl)) },
            title: { type: 'string' },
            status: { const: status },
            ...(mayHaveDetail(status) ? { detail: { type: 'string' } } : {}),
            ...(status === 422 ? { errors: FIELD_ERRORS } : {}),
            ...members,
            instance: { type: 'string', pattern: '^urn:uuid:[0-9a-f-]{36}$', description: 'The id of the request.' },
          },
          required: ['type', 'title', 'status', ...(status === 422 ? ['errors'] : [])],
        },
        examples: Object.fromEntries(kinds.map((kind) => [kind ?? 'about-blank', { value: example(kind) }])),
      },
    },
  }
}

const FIELD_ERRORS = { type: 'array', minItems: 1, items: { $ref: '#/components/schemas/FieldError' } }

/** The schema component of a field error. */
export const FIELD_ERROR = {
  type: 'object',
  properties: {
    pointer: { type: 'string', pattern: '^#(/|$)', description: 'The field, as a JSON pointer.' },
    code: {
      enum: Object.keys(FIELD_ERROR_DETAILS),
      description:
        'What is wrong with the field. Decide by it, never by `detail`. A later version may add codes: treat an unknown one as `invalid`.',
    },
    detail: { type: 'string', description: 'The code in English, for developers. It may change.' },
    min: { type: 'integer', description: 'The least number that the code names, such as characters for `too-short`.' },
    max: {
      type: 'integer',
      description: 'The greatest number that the code names, such as characters for `too-long`.',
    },
  },
  required: ['pointer', 'code', 'detail'],
}

/** The header components of the API document. */
export const HEADERS = {
  ContentSecurityPolicy: { required: true, schema: { const: FIXED_HEADERS['content-security-policy'] } },
  ContentDisposition: {
    description: 'The name of the file, if the response is one.',
    schema: { type: 'string', pattern: '^attachment; filename="[\\w.-]+"$' },
  },
  ETag: {
    description: 'The version of the resource, for `If-Match`.',
    required: true,
    schema: { type: 'string', pattern: '^"[\\w-]{22}"$' },
  },
  IdempotencyReplayed: {
    description: 'Sent when this is the reply to an earlier request with the same `Idempotency-Key`.',
    schema: { const: 'true' },
  },
  Link: {
    description: 'Where the next file begins, if the range has more than fits into this one.',
    schema: { type: 'string', pattern: '^</v1/[^>]+>; rel="next"$' },
  },
  NoStore: { required: true, schema: { const: 'no-store' } },
  Nosniff: { required: true, schema: { const: FIXED_HEADERS['x-content-type-options'] } },
  RateLimit: {
    description: 'The exceeded limit of `x-rate-limits`, and the seconds until the next attempt is allowed.',
    schema: { type: 'string', pattern: '^"[a-z-]+";r=0;t=\\d+$' },
  },
  RateLimitPolicy: {
    description: 'The number of attempts that the limit allows, and its window in seconds.',
    schema: { type: 'string', pattern: '^"[a-z-]+";q=\\d+;w=\\d+$' },
  },
  ReferrerPolicy: { required: true, schema: { const: FIXED_HEADERS['referrer-policy'] } },
  RequestId: { required: true, schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{8,128}$' } },
  RetryAfter: {
    description: 'Seconds until the next attempt.',
    required: true,
    schema: { type: 'string', pattern: '^[1-9]\\d*$' },
  },
  SessionIfPreferred: {
    description: 'What `GET /v1/auth/session` returns, as JSON in base64url, if a read has `prefer: session`.',
    schema: { type: 'string', pattern: '^[\\w-]+$' },
  },
  StrictTransportSecurity: { required: true, schema: { const: FIXED_HEADERS['strict-transport-security'] } },
  TenantId: {
    description: 'The tenant of the request. If it is not the expected one, another tab has selected another tenant.',
    required: true,
    schema: { type: 'string', format: 'uuid' },
  },
  TenantIdIfAny: {
    description: 'The tenant of the session, if one is selected.',
    schema: { type: 'string', format: 'uuid' },
  },
  WwwAuthenticate: {
    description:
      'The challenge of RFC 6750, or of RFC 7617 where a service key is required. The service sends it as `www-authenticate`, and API Gateway renames it.',
    required: true,
    schema: { enum: ['Bearer realm="api"', 'Bearer realm="api", error="invalid_token"', SERVICE_CHALLENGE] },
  },
}

const header = (name: keyof typeof HEADERS): Part => ({ $ref: `#/components/headers/${name}` })

const COMMON_HEADERS = {
  'x-request-id': header('RequestId'),
  'strict-transport-security': header('StrictTransportSecurity'),
  'x-content-type-options': header('Nosniff'),
  'content-security-policy': header('ContentSecurityPolicy'),
  'referrer-policy': header('ReferrerPolicy'),
}

/** Returns the headers of a success. */
export const successHeaders = (endpoint: Endpoint): Part => {
  const { access, cache, etag, files, method } = endpoint
  return {
    ...COMMON_HEADERS,
    ...(etag ? { etag: header('ETag') } : {}),
    ...(files.length > 0 ? { 'content-disposition': header('ContentDisposition'), link: header('Link') } : {}),
    ...(takesKey(endpoint) ? { 'idempotency-replayed': header('IdempotencyReplayed') } : {}),
    'cache-control': cache === 'no-store' ? header('NoStore') : { required: true, schema: { const: cache } },
    ...(requiresPrincipal(access)
      ? { 'x-tenant-id': header(isTenantAccess(access) || access === 'key' ? 'TenantId' : 'TenantIdIfAny') }
      : {}),
    ...(requiresSession(access) && method === 'GET' ? { [SESSION_HEADER]: header('SessionIfPreferred') } : {}),
  }
}
