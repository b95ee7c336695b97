import { FIXED_HEADERS } from '#shared/http/fixed-headers.ts'
import { LANGUAGES } from '#shared/schema/language.ts'
import { bareMarkup } from '#web/http/failure.ts'
import { PAGE_HEADERS } from '#web/http/headers.ts'
import {
  type FailureStatus,
  type ProblemBody,
  type ProblemKind,
  problemTitle,
  problemType,
} from '#shared/base/problem.ts'

interface GatewayFailureResponse {
  readonly status: FailureStatus
  readonly kind?: ProblemKind
  readonly retryAfterSeconds?: number
  /** The `WWW-Authenticate` of a 401. */
  readonly challenge?: string
}

/** The error responses that API Gateway makes itself, by its own names for them. */
export const GATEWAY_RESPONSES = {
  MISSING_AUTHENTICATION_TOKEN: { status: 404 },
  INVALID_SIGNATURE: { status: 404 },
  EXPIRED_TOKEN: { status: 404 },
  RESOURCE_NOT_FOUND: { status: 404 },
  ACCESS_DENIED: { status: 403 },
  BAD_REQUEST_PARAMETERS: { status: 400 },
  BAD_REQUEST_BODY: { status: 400 },
  REQUEST_TOO_LARGE: { status: 413 },
  UNSUPPORTED_MEDIA_TYPE: { status: 415 },
  THROTTLED: { status: 429, kind: 'rate-limited', retryAfterSeconds: 1 },
  QUOTA_EXCEEDED: { status: 429, kind: 'rate-limited', retryAfterSeconds: 60 },
  WAF_FILTERED: { status: 403 },
  INTEGRATION_FAILURE: { status: 502, kind: 'dependency-unavailable', retryAfterSeconds: 1 },
  INTEGRATION_TIMEOUT: { status: 504, kind: 'dependency-unavailable', retryAfterSeconds: 1 },
  API_CONFIGURATION_ERROR: { status: 500 },
  // Every other failure.
  DEFAULT_4XX: { status: 400 },
  DEFAULT_5XX: { status: 500 },
} as const satisfies Record<string, GatewayFailureResponse>

export type GatewayFailure = keyof typeof GATEWAY_RESPONSES

/** Those that it makes in addition for an API of another service, behind a Lambda authorizer. */
export const AUTHORIZER_RESPONSES = {
  UNAUTHORIZED: { status: 401, challenge: 'Bearer realm="api"' },
  // Never a 401, on which clients discard their session.
  AUTHORIZER_FAILURE: { status: 503, kind: 'dependency-unavailable', retryAfterSeconds: 1 },
  AUTHORIZER_CONFIGURATION_ERROR: { status: 503, kind: 'dependency-unavailable', retryAfterSeconds: 1 },
} as const satisfies Record<string, GatewayFailureResponse>

export type AuthorizerFailure = keyof typeof AUTHORIZER_RESPONSES

/** API Gateway's quota for the payload of a REST API. A larger one never reaches a function. */
export const PAYLOAD_LIMIT_BYTES = 10 * 1024 * 1024

/** API Gateway's quota for all headers of a request together. */
export const HEADERS_LIMIT_BYTES = 10_240

/**
 * The size from which API Gateway compresses a response of the API, if the client takes gzip. It compresses no page: a page has a
 * CSRF field beside what its address says, and the compressed size would tell how much of both is equal (BREACH).
 */
export const COMPRESSION_FROM_BYTES = 1024

/** How long API Gateway waits for a function. */
export const INTEGRATION_TIMEOUT_MS = 10_000

/** A response that API Gateway makes itself. */
export interface GatewayResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Returns an error response of the front end's API Gateway: a small page in every language, because it does not know the person's. */
export function pageResponse(failure: GatewayFailure, requestId: string): GatewayResponse {
  const { status, retryAfterSeconds }: GatewayFailureResponse = GATEWAY_RESPONSES[failure]
  return {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'x-request-id': requestId,
      'cache-control': 'no-store',
      ...PAGE_HEADERS,
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    },
    body: bareMarkup(LANGUAGES, status),
  }
}

/** Returns an error response of API Gateway in the same shape as the functions' own: problem details and headers. */
export function gatewayResponse(
  failure: GatewayFailure | AuthorizerFailure,
  request: { requestId: string; problemBaseUrl: string },
): GatewayResponse {
  const response: GatewayFailureResponse = { ...GATEWAY_RESPONSES, ...AUTHORIZER_RESPONSES }[failure]
  const { status, kind = null } = response
  const body: ProblemBody = {
    type: problemType(kind, request.problemBaseUrl),
    title: problemTitle({ status, kind }),
    status,
    instance: `urn:uuid:${request.requestId}`,
  }
  return {
    status: response.status,
    headers: {
      'content-type': 'application/problem+json',
      'x-request-id': request.requestId,
      'cache-control': 'no-store',
      ...FIXED_HEADERS,
      ...(response.challenge === undefined ? {} : { 'www-authenticate': response.challenge }),
      ...(response.retryAfterSeconds === undefined ? {} : { 'retry-after': String(response.retryAfterSeconds) }),
    },
    body: JSON.stringify(body),
  }
}
