import type { GatewayEvent } from './event.ts'

/** The context of a Lambda, as middy's types want it. It is written out here so that the package needs no other types. */
interface LambdaContext {
  callbackWaitsForEmptyEventLoop: boolean
  functionName: string
  functionVersion: string
  invokedFunctionArn: string
  memoryLimitInMB: string
  awsRequestId: string
  logGroupName: string
  logStreamName: string
  getRemainingTimeInMillis(): number
  done(error?: Error, result?: unknown): void
  fail(error: Error | string): void
  succeed(messageOrObject: unknown): void
}

/** The part of a middy request that the middleware uses. `Found` is the principal, or null on a public route. */
export interface MiddyRequest<Found> {
  event: GatewayEvent
  context: LambdaContext & { principal: Found }
  response?: unknown
  error?: unknown
}
