import { parentPort, workerData } from 'node:worker_threads'
import type { APIGatewayProxyEvent, Context } from 'aws-lambda'
import type { LambdaHandler } from '#shared/http/lambda.ts'

/** One request to an instance, and its answer. */
export interface Invocation {
  readonly event: APIGatewayProxyEvent
  readonly deadline: number
}

const { handlerFile, functionName }: { handlerFile: string; functionName: string } = workerData
const { handler }: { handler: LambdaHandler } = await import(handlerFile)

const contextOf = ({ event, deadline }: Invocation): Context => ({
  callbackWaitsForEmptyEventLoop: true,
  functionName,
  functionVersion: '$LATEST',
  invokedFunctionArn: `arn:aws:lambda:us-east-1:000000000000:function:${functionName}`,
  memoryLimitInMB: '512',
  awsRequestId: event.requestContext.requestId,
  logGroupName: `/aws/lambda/${functionName}`,
  logStreamName: 'local',
  getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  done: () => {},
  fail: () => {},
  succeed: () => {},
})

parentPort?.on('message', (invocation: Invocation) => {
  handler(invocation.event, contextOf(invocation)).then(
    (result) => parentPort?.postMessage({ result }),
    (error: unknown) => parentPort?.postMessage({ error: error instanceof Error ? error.message : String(error) }),
  )
})
parentPort?.postMessage({ ready: true })
