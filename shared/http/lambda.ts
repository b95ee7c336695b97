import type { APIGatewayProxyEvent, Context } from 'aws-lambda'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import type { StartedGroup } from '#shared/http/group.ts'
import { pipeline } from '#shared/http/pipeline.ts'
import { beginRequest } from '#shared/http/request.ts'
import { metered } from '#shared/base/metrics.ts'
import { invokeLambda } from '#shared/queue/invoke-lambda.ts'
import { openLimiter } from '#shared/rate-limit/open-limiter.ts'
import { openRuntime, type Parts, type RuntimeSource } from '#shared/lambda/runtime.ts'

/** A Lambda handler of the API Gateway REST proxy integration. It never rejects: a failure is a response too. */
export type LambdaHandler = (event: APIGatewayProxyEvent, context: Context) => Promise<ProxyResult>

/** The parts in the bundle of every route group. */
export const GROUP_PARTS: Parts = { openLimiter, invoke: invokeLambda }

/** Returns the Lambda handler of a route group. */
export const lambda = (group: StartedGroup, source: RuntimeSource = openRuntime(group, GROUP_PARTS)): LambdaHandler => {
  const handle = pipeline(group, source)
  return metered((event, context) => handle(event, { ...context, request: beginRequest(event, source.config) }))
}
