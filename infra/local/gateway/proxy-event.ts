import type { IncomingMessage } from 'node:http'
import type { APIGatewayProxyEvent } from 'aws-lambda'

/** The REST API resource that a request's path matches, with its decoded path parameters. */
export interface Resource {
  readonly resource: string
  readonly params: Readonly<Record<string, string>>
}

/**
 * Matches request paths against the resources of a REST API (`/v1/members/{id}`) as API Gateway does: case-sensitive, a
 * literal path first, one segment per parameter, decoded once, and the greedy `{name+}` last. Returns null for no match.
 */
export function createResourceMatcher(resources: readonly string[]): (path: string) => Resource | null {
  const literal = new Set(resources.filter((resource) => !resource.includes('{')))
  // Not URLPattern: it resolves dot segments, which a REST API passes on.
  const patterns = resources
    .filter((resource) => resource.includes('{'))
    .toSorted((a, b) => Number(a.includes('+}')) - Number(b.includes('+}')))
    .map((resource) => {
      const source = resource.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)').replace(/\{(\w+)\+\}/, '(?<$1>.+)')
      return { resource, pattern: new RegExp(`^${source}$`) }
    })
  return (path) => {
    if (literal.has(path)) return { resource: path, params: {} }
    for (const { resource, pattern } of patterns) {
      const groups = pattern.exec(path)?.groups
      if (groups === undefined) continue
      try {
        const params = Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)])
        return { resource, params: Object.fromEntries(params) }
      } catch {
        return null
      }
    }
    return null
  }
}

const grouped = (pairs: Iterable<readonly [string, string]>): Record<string, string[]> => {
  const groups: Record<string, string[]> = Object.create(null)
  for (const [name, value] of pairs) (groups[name] ??= []).push(value)
  return groups
}

const lastOf = (groups: Record<string, string[]>): Record<string, string> =>
  Object.fromEntries(Object.entries(groups).map(([name, values]) => [name, values.at(-1) ?? '']))

const headerPairs = (raw: readonly string[]): [string, string][] => {
  const pairs: [string, string][] = []
  for (let index = 0; index + 1 < raw.length; index += 2) pairs.push([raw[index] ?? '', raw[index + 1] ?? ''])
  return pairs
}

/** API Gateway appends the address that it sees to what the client sent, and never removes any of that. */
function appendForwardedFor(headers: Record<string, string[]>, address: string): void {
  const sent = Object.keys(headers).filter((name) => name.toLowerCase() === 'x-forwarded-for')
  const list = sent.flatMap((name) => headers[name] ?? [])
  for (const name of sent) delete headers[name]
  headers['X-Forwarded-For'] = [[...list, address].join(', ')]
}

/** Splits a request's target into path and query, without the question mark between them. */
export function splitTarget({ url = '/' }: IncomingMessage): { path: string; search: string } {
  const at = url.indexOf('?')
  return at < 0 ? { path: url, search: '' } : { path: url.slice(0, at), search: url.slice(at + 1) }
}

/** Builds the event of a REST API's Lambda proxy integration from a request. */
export function proxyEvent(
  request: IncomingMessage,
  { resource, params, requestId, body }: Resource & { requestId: string; body: Buffer },
): APIGatewayProxyEvent {
  const { path, search } = splitTarget(request)
  // `headers` joins or drops repeated headers. The raw list has them all, with their names as sent.
  const headers = grouped(headerPairs(request.rawHeaders))
  appendForwardedFor(headers, request.socket.remoteAddress ?? '')
  const query = grouped(new URLSearchParams(search))
  const text = body.toString('utf8')
  const isText = Buffer.from(text, 'utf8').equals(body)
  const method = request.method ?? 'GET'
  return {
    resource,
    path,
    httpMethod: method,
    headers: lastOf(headers),
    multiValueHeaders: headers,
    queryStringParameters: search === '' ? null : lastOf(query),
    multiValueQueryStringParameters: search === '' ? null : query,
    pathParameters: Object.keys(params).length === 0 ? null : { ...params },
    stageVariables: null,
    requestContext: {
      accountId: '000000000000',
      apiId: 'local',
      authorizer: null,
      protocol: 'HTTP/1.1',
      httpMethod: method,
      identity: {
        accessKey: null,
        accountId: null,
        apiKey: null,
        apiKeyId: null,
        caller: null,
        clientCert: null,
        cognitoAuthenticationProvider: null,
        cognitoAuthenticationType: null,
        cognitoIdentityId: null,
        cognitoIdentityPoolId: null,
        principalOrgId: null,
        sourceIp: request.socket.remoteAddress ?? '',
        user: null,
        userAgent: request.headers['user-agent'] ?? null,
        userArn: null,
      },
      path,
      requestId,
      requestTimeEpoch: Date.now(),
      resourceId: resource,
      resourcePath: resource,
      stage: 'local',
    },
    body: body.length === 0 ? null : isText ? text : body.toString('base64'),
    isBase64Encoded: body.length > 0 && !isText,
  }
}
