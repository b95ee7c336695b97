import { randomUUID } from 'node:crypto'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import { type ClientRequest, type ClientResponse, ProblemError, type Send } from '#shared/client/client.ts'
import { GROUP_OF } from '#shared/client/group-of.ts'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import { describeError, log } from '#shared/base/log.ts'
import { once } from '#shared/base/once.ts'

/** The browser that a request is sent for. */
export interface Browser {
  /** Its address. The limits of the service count by it, and the audit log has its hash. */
  readonly sourceIp: string
  readonly userAgent: string | null
  /** The id of its request. The service's log has it as `client_request_id`. */
  readonly requestId: string
}

// Less than API Gateway waits for the page.
const TIMEOUT_MS = 8000
const RETRY_AFTER_SECONDS = 1

/**
 * Returns the transport that invokes the function of a route group directly, as API Gateway does for that browser. Throws
 * ProblemError 503 when the function fails, exceeds the timeout or cannot be invoked. A read without a response is sent
 * twice: the connection of an instance that was frozen may be dead.
 */
export const invokeGroups =
  (browser: Browser, { timeoutMs = TIMEOUT_MS }: { timeoutMs?: number } = {}): Send =>
  async (request) => {
    const group = GROUP_OF[request.path]
    if (group === undefined) throw new Error(`no route group serves ${request.path}`)
    // AbortSignal.timeout would keep what the request holds in memory for the whole time, also after the response.
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(), timeoutMs)
    const invoke = () => invokeGroup(group, proxyEvent(request, browser), timeout.signal)
    try {
      return await invoke().catch((error: unknown) => {
        if (request.method !== 'GET' || timeout.signal.aborted || error instanceof FunctionError) throw error
        return invoke()
      })
    } catch (error) {
      log.error('could not invoke a route group; the page says that the service is unavailable', {
        group,
        route: `${request.method} ${request.path}`,
        request_id: browser.requestId,
        error: describeError(error),
      })
      const problem = { type: 'dependency-unavailable', title: 'Service temporarily unavailable', status: 503 }
      throw new ProblemError(problem, RETRY_AFTER_SECONDS)
    } finally {
      clearTimeout(timer)
    }
  }

class FunctionError extends Error {
  override name = 'FunctionError'
}

const importInvoke = once(() => import('#shared/lambda/invoke-function.ts'))

async function invokeGroup(group: string, event: Event, abortSignal: AbortSignal): Promise<ClientResponse> {
  const { invokeFunction } = await importInvoke()
  const invocation = { type: 'RequestResponse', payload: JSON.stringify(event) } as const
  const { functionError, payload } = await invokeFunction(group, invocation, abortSignal)
  if (functionError !== null) throw new FunctionError(`${functionError}: ${payload}`)
  const result: ProxyResult | null = JSON.parse(payload)
  if (typeof result?.statusCode !== 'number') throw new FunctionError('the function returned no response')
  return toResponse(result)
}

/** The fields of the gateway's event that the service reads. */
type Event = Pick<
  APIGatewayProxyEvent,
  | 'resource'
  | 'httpMethod'
  | 'path'
  | 'headers'
  | 'multiValueHeaders'
  | 'pathParameters'
  | 'queryStringParameters'
  | 'multiValueQueryStringParameters'
  | 'body'
  | 'isBase64Encoded'
> & { readonly requestContext: object }

function proxyEvent({ method, path, params, query, body, ...request }: ClientRequest, browser: Browser): Event {
  const { sourceIp, userAgent, requestId } = browser
  const headers: Record<string, string> = {
    ...request.headers,
    'x-request-id': requestId,
    ...(userAgent === null ? {} : { 'user-agent': userAgent }),
  }
  return {
    resource: path,
    httpMethod: method,
    path,
    headers,
    multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    pathParameters: params,
    queryStringParameters: Object.fromEntries(query),
    multiValueQueryStringParameters: Object.fromEntries([...query.keys()].map((name) => [name, query.getAll(name)])),
    requestContext: { requestId: randomUUID(), identity: { sourceIp, userAgent } },
    body,
    isBase64Encoded: false,
  }
}

// A Response of the platform takes more time than all else that the client does with one.
const toResponse = ({ statusCode: status, headers = {}, body }: ProxyResult): ClientResponse => ({
  ok: status >= 200 && status < 300,
  status,
  statusText: '',
  headers: {
    get: (wanted) => {
      const name = Object.keys(headers).find((each) => each.toLowerCase() === wanted)
      const value = name === undefined ? null : headers[name]
      return value === null || value === undefined ? null : String(value)
    },
  },
  json: async () => JSON.parse(body),
  text: async () => body,
})
