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

const RETRY = { 'retry-after': '1' }

/** Every refusal, with the bytes of Tenantry's own responses. */
const REFUSALS = {
  'no-credentials': { status: 401, title: 'Unauthorized', headers: { 'www-authenticate': 'Bearer realm="api"' } },
  'invalid-token': {
    status: 401,
    title: 'Unauthorized',
    headers: { 'www-authenticate': 'Bearer realm="api", error="invalid_token"' },
  },
  forbidden: { status: 403, title: 'Forbidden', headers: {} },
  'tenant-not-selected': { status: 403, title: 'No tenant selected', kind: 'tenant-not-selected', headers: {} },
  'no-route': { status: 404, title: 'Not Found', headers: {} },
  unavailable: {
    status: 503,
    title: 'Service temporarily unavailable',
    kind: 'dependency-unavailable',
    headers: RETRY,
  },
} satisfies Record<string, { status: number; title: string; kind?: string; headers: Readonly<Record<string, string>> }>

export type RefusalKind = keyof typeof REFUSALS

/** Throw it from anywhere below the guard: it becomes the response. It contains nothing of the request but its id. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Problem details (RFC 9457), as JSON. */
  readonly body: string

  constructor(
    kind: RefusalKind,
    { requestId, problemBaseUrl, reason }: { requestId: string; problemBaseUrl: string; reason?: string },
  ) {
    const refusal: { status: number; title: string; kind?: string; headers: object } = REFUSALS[kind]
    const { status, title } = refusal
    super(reason ?? title)
    this.status = status
    this.headers = {
      'x-request-id': requestId,
      'cache-control': 'no-store',
      ...FIXED_HEADERS,
      'content-type': 'application/problem+json',
      ...refusal.headers,
    }
    const type = refusal.kind === undefined ? 'about:blank' : `${problemBaseUrl}/${refusal.kind}`
    this.body = JSON.stringify({ type, title, status, instance: `urn:uuid:${requestId}` })
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
