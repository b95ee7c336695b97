import { randomUUID } from 'node:crypto'
import type { APIGatewayProxyEvent } from 'aws-lambda'

interface EventInput {
  /** `METHOD /resource/{param}`. */
  readonly route: string
  readonly headers?: Readonly<Record<string, string>>
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly sourceIp?: string
}

/** Makes the gateway's event directly, for what no HTTP client can send: another client address, a line break in a header. */
export function gatewayEvent({ route, headers = {}, params, query, body, sourceIp = '127.0.0.1' }: EventInput) {
  const [httpMethod = '', resource = ''] = route.split(' ')
  const sent = body === undefined ? headers : { 'content-type': 'application/json', ...headers }
  return {
    resource,
    path: resource,
    httpMethod,
    headers: sent,
    multiValueHeaders: Object.fromEntries(Object.entries(sent).map(([name, value]) => [name, [value]])),
    queryStringParameters: query ?? null,
    multiValueQueryStringParameters:
      query === undefined ? null : Object.fromEntries(Object.entries(query).map(([name, value]) => [name, [value]])),
    pathParameters: params ?? null,
    stageVariables: null,
    // The service reads no other field of the context.
    requestContext: {
      identity: { sourceIp },
      requestId: randomUUID(),
    } as unknown as APIGatewayProxyEvent['requestContext'],
    body: body === undefined ? null : JSON.stringify(body),
    isBase64Encoded: false,
  } satisfies APIGatewayProxyEvent
}
