import middy from '@middy/core'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import { runEndpoint } from '#shared/http/run-endpoint.ts'
import type { StartedGroup } from '#shared/http/group.ts'
import { unavailable } from '#shared/base/problem.ts'
import { bearer } from '#shared/http/middleware/bearer.ts'
import { conditions } from '#shared/http/middleware/conditions.ts'
import { idempotencyKey } from '#shared/http/middleware/idempotency-key.ts'
import { jsonBody } from '#shared/http/middleware/json-body.ts'
import { matchRoute } from '#shared/http/middleware/match-route.ts'
import { problemDetails } from '#shared/http/middleware/problem-details.ts'
import { rateLimit } from '#shared/http/middleware/rate-limit.ts'
import { responseHeaders } from '#shared/http/middleware/response-headers.ts'
import { serviceKey } from '#shared/http/middleware/service-key.ts'
import { tenantScope } from '#shared/http/middleware/tenant-scope.ts'
import type { PipelineContext } from '#shared/http/request.ts'
import type { RuntimeSource } from '#shared/lambda/runtime.ts'

// Middy calls it shortly before Lambda ends the invocation.
const outOfTime = (): never => {
  throw unavailable(new Error('the time of the invocation is over'))
}

/**
 * The path of every request, outermost middleware first. A middleware throws and never returns a response: middy skips
 * every `after` and `onError` of an early return. Authentication and authorization come before parsing, so that nobody
 * gets a 422 where a 401 or 403 is due. Limits come last, because they may depend on the body.
 */
export const pipeline = (group: StartedGroup, source: RuntimeSource) =>
  middy<APIGatewayProxyEvent, ProxyResult, Error, PipelineContext>({ timeoutEarlyResponse: outOfTime })
    .use(responseHeaders())
    .use(problemDetails(source.config.problemBaseUrl, group.showProblem))
    .use(matchRoute(group, source))
    .use(bearer())
    .use(serviceKey())
    .use(tenantScope())
    .use(jsonBody(group.bodyLimitBytes))
    .use(conditions())
    .use(idempotencyKey())
    .use(rateLimit())
    .handler(async (_event, context) => {
      const { status, headers, body } = await runEndpoint(context.request)
      if (body === null) return { statusCode: status, headers: { 'content-type': null, ...headers }, body: '' }
      const sent = { 'content-type': 'application/json', ...headers }
      return { statusCode: status, headers: sent, body: typeof body === 'string' ? body : JSON.stringify(body) }
    })
