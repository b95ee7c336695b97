import type { IncomingMessage } from 'node:http'
import type { APIGatewayProxyEvent } from 'aws-lambda'

/** A path of a REST API that a request's path matched, with its decoded parameters. */
export interface Resource {
  readonly resource: string
  readonly params: Readonly<Record<string, string>>
}

/**
 * Matches request paths against the resources of a REST API (`/v1/members/{id}`), as API Gateway does: case-sensitive,
 * a literal segment before a parameter, each parameter one segment, decoded once, and `{name+}`, which takes all that is
 * left, last. Null when none matches.
 */
export function createResourceMatcher(resources: readonly string[]): (path: string) => Resource | null {
  const literal = new Set(resources.filter((resource) => !resource.includes('{')))
  const patterns = resources
    .filter((resource) => resource.includes('{'))
    .toSorted((a, b) => Number(a.includes('+}')) - Number(b.includes('+}')))
    .map((resource) => ({
      resource,
      names: [...resource.matchAll(/\{(\w+)\+?\}/g)].map(([, name = '']) => name),
      pattern: new RegExp(`^${resource.replace(/\{\w+\}/g, '([^/]+)').replace(/\{\w+\+\}/, '(.+)')}$`),
    }))
  return (path) => {
    if (literal.has(path)) return { resource: path, params: {} }
    for (const { resource, names, pattern } of patterns) {
      const values = pattern.exec(path)?.slice(1)
      if (values === undefined) continue
      try {
        return {
          resource,
          params: Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(values[index] ?? '')])),
        }
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

/** The path and the query of a request, without the first question mark between them. */
export function splitTarget({ url = '/' }: IncomingMessage): { path: string; search: string } {
  const at = url.indexOf('?')
  return at < 0 ? { path: url, search: '' } : { path: url.slice(0, at), search: url.slice(at + 1) }
}

/** The event that a REST API's Lambda proxy integration makes of a request. */
export function proxyEvent(
  request: IncomingMessage,
  { resource, params, requestId, body }: Resource & { requestId: string; body: Buffer },
): APIGatewayProxyEvent {
  const { path, search } = splitTarget(request)
  // Node joins or drops repeated headers in `headers`; the raw list has them all, under the names as sent.
  const headers = grouped(headerPairs(request.rawHeaders))
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
