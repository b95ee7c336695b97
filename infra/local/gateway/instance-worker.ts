import { randomUUID } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import type { Context } from 'aws-lambda'

/** One request to an instance. `deadline` is in milliseconds since the epoch. */
export interface Invocation<Event> {
  readonly event: Event
  readonly deadline: number
  /** The alias by which the function is invoked. */
  readonly alias: string
}

const { handlerFile, functionName }: { handlerFile: string; functionName: string } = workerData
const { handler }: { handler: (event: unknown, context: Context) => Promise<unknown> } = await import(handlerFile)

const contextOf = ({ alias, deadline }: Invocation<unknown>): Context => ({
  callbackWaitsForEmptyEventLoop: true,
  functionName,
  functionVersion: '$LATEST',
  invokedFunctionArn: `arn:aws:lambda:us-east-1:000000000000:function:${functionName}:${alias}`,
  memoryLimitInMB: '512',
  awsRequestId: randomUUID(),
  logGroupName: `/aws/lambda/${functionName}`,
  logStreamName: 'local',
  getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  done: () => {},
  fail: () => {},
  succeed: () => {},
})

parentPort?.on('message', (invocation: Invocation<unknown>) => {
  handler(invocation.event, contextOf(invocation)).then(
    (result) => parentPort?.postMessage({ result }),
    (error: unknown) => {
      const { name, message } = error instanceof Error ? error : new Error(String(error))
      parentPort?.postMessage({ error: message, name })
    },
  )
})
parentPort?.postMessage({ ready: true })
