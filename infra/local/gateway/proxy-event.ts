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

/** Names with their values, without a prototype: a client may send any name. */
type Values<Value> = Record<string, Value>

interface Grouped {
  readonly last: Values<string>
  readonly all: Values<string[]>
}

const emptyGroups = (): Grouped => ({
  last: { __proto__: null } as unknown as Values<string>,
  all: { __proto__: null } as unknown as Values<string[]>,
})

function add({ last, all }: Grouped, name: string, value: string): void {
  last[name] = value
  const values = all[name]
  if (values === undefined) all[name] = [value]
  else values.push(value)
}

const FORWARDED_FOR = 'X-Forwarded-For'

const isForwardedFor = (name: string): boolean =>
  name.length === FORWARDED_FOR.length && name.toLowerCase() === 'x-forwarded-for'

/** Groups the headers. API Gateway appends the address that it sees to what the client sent, and never removes any of that. */
function groupHeaders(raw: readonly string[], address: string): Grouped {
  const groups = emptyGroups()
  let forwardedFor = ''
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [name = '', value = ''] = [raw[index], raw[index + 1]]
    if (isForwardedFor(name)) forwardedFor += `${value}, `
    else add(groups, name, value)
  }
  add(groups, FORWARDED_FOR, forwardedFor + address)
  return groups
}

function groupQuery(search: string): Grouped | null {
  if (search === '') return null
  const groups = emptyGroups()
  for (const [name, value] of new URLSearchParams(search)) add(groups, name, value)
  return groups
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
  const address = request.socket.remoteAddress ?? ''
  // `headers` joins or drops repeated headers. The raw list has them all, with their names as sent.
  const headers = groupHeaders(request.rawHeaders, address)
  const query = groupQuery(search)
  const text = body.toString('utf8')
  const isText = body.length === 0 || Buffer.from(text, 'utf8').equals(body)
  const method = request.method ?? 'GET'
  return {
    resource,
    path,
    httpMethod: method,
    headers: headers.last,
    multiValueHeaders: headers.all,
    queryStringParameters: query?.last ?? null,
    multiValueQueryStringParameters: query?.all ?? null,
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
        sourceIp: address,
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
    isBase64Encoded: !isText,
  }
}
