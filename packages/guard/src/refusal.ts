import {
  forbidden,
  notFound,
  Problem,
  problemBody,
  problemTitle,
  tooMany,
  unauthorized,
  unavailable,
} from '../../../shared/base/problem.ts'
import { lists } from './label.ts'

/** A response of a Lambda proxy integration. */
export interface ProxyResponse {
  statusCode: number
  headers: Record<string, string>
  multiValueHeaders?: Record<string, string[]>
  body: string
}

const FIXED_HEADERS = {
  'strict-transport-security': 'max-age=63072000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
}

export type RefusalKind =
  | 'no-credentials'
  | 'invalid-token'
  | 'forbidden'
  | 'tenant-not-selected'
  | 'step-up-required'
  | 'rate-limited'
  | 'no-route'
  | 'unavailable'

/** Every refusal, as Tenantry's own responses have it. */
const REFUSALS: Readonly<Record<RefusalKind, (headers: Readonly<Record<string, string>>) => Problem>> = {
  'no-credentials': () => unauthorized('no credentials'),
  'invalid-token': () => unauthorized('invalid token', true),
  forbidden: () => forbidden('forbidden'),
  'tenant-not-selected': () => new Problem('tenant-not-selected'),
  'step-up-required': () => new Problem('step-up-required'),
  'rate-limited': (headers) => tooMany(headers),
  'no-route': () => notFound('no route'),
  unavailable: () => unavailable(null),
}

/** Throw it from anywhere below the guard: it becomes the response. It contains nothing of the request but its id. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Problem details (RFC 9457), as JSON. */
  readonly body: string

  constructor(
    kind: RefusalKind,
    {
      requestId,
      problemBaseUrl,
      reason,
      headers = {},
    }: {
      requestId: string
      problemBaseUrl: string
      reason?: string
      /** Those of a limit. */
      headers?: Readonly<Record<string, string>>
    },
  ) {
    const problem = REFUSALS[kind](headers)
    super(reason ?? problemTitle(problem))
    this.status = problem.status
    this.headers = {
      'x-request-id': requestId,
      'cache-control': 'no-store',
      ...FIXED_HEADERS,
      'content-type': 'application/problem+json',
      ...problem.options.headers,
    }
    this.body = JSON.stringify(problemBody(problem, requestId, problemBaseUrl))
  }

  /** Returns the response of a Lambda, with its headers as lists too for a load balancer that wants them so. */
  response(withHeaderLists = false): ProxyResponse {
    const { status: statusCode, headers, body } = this
    return {
      statusCode,
      headers: { ...headers },
      ...(withHeaderLists ? { multiValueHeaders: lists(headers) } : {}),
      body,
    }
  }

  /** Returns the Response of a server that speaks Request and Response. */
  fetchResponse(): Response {
    return new Response(this.body, { status: this.status, headers: this.headers })
  }
}
