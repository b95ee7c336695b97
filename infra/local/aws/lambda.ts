import { randomUUID } from 'node:crypto'
import type { Worker } from '#shared/lambda/worker.ts'
import { asking, AWS_ACCOUNT, AWS_REGION, AwsError, type Authorize, withAwsFailures } from './aws-endpoints.ts'
import { LIVE_ALIAS } from '#shared/base/live-alias.ts'
import { type HttpServer, json, startHttpServer } from '#infra/local/http-server.ts'

/** The function of a worker. */
export interface Invokable {
  readonly worker: Pick<Worker, 'callers' | 'everySeconds' | 'timeoutSeconds' | 'receives'>
  readonly invoke: (event: unknown, timeoutMs: number, alias?: string) => Promise<unknown>
}

// A function is named by its name or ARN, each with an alias behind it or not.
const INVOKED =
  /^\/2015-03-31\/functions\/(?:arn:aws:lambda:[\w-]+:\d{12}:function:)?([\w-]+(?::[\w-]+)?)\/invocations$/

export const functionArn = (name: string): string => `arn:aws:lambda:${AWS_REGION}:${AWS_ACCOUNT}:function:${name}`

/** Returns the ARN under which callers invoke a function. */
export const liveArn = (name: string): string => `${functionArn(name)}:${LIVE_ALIAS}`

const run = ({ worker, invoke }: Invokable, event: unknown, alias = LIVE_ALIAS) =>
  invoke(event, worker.timeoutSeconds * 1000, alias)

export interface LocalLambda extends HttpServer {
  /** Registers a function under a name and starts its schedule. */
  serve(name: string, invokable: Invokable): void
  /** Passes a message to the function that receives such messages, as the queue of a stage does. */
  receive(messages: NonNullable<Worker['receives']>, message: object): void
}

/** Returns the event with which a queue invokes a function. */
export const queueEvent = (...messages: readonly object[]) => ({
  Records: messages.map((message) => ({ messageId: randomUUID(), body: JSON.stringify(message) })),
})

/**
 * Serves Lambda's Invoke of the alias for the unmodified SDK client, and runs the schedules of the workers. Replies to an asynchronous
 * invocation immediately. Does not retry one that fails: the worker's schedule runs it again.
 */
export async function startLambda({ authorize }: { authorize?: Authorize } = {}): Promise<LocalLambda> {
  const functions = new Map<string, Invokable>()
  const server = await startHttpServer({
    answer: withAwsFailures(async ({ method, url, headers, body }) => {
      const [, named = ''] = INVOKED.exec(decodeURIComponent(url.pathname)) ?? []
      const [name = '', suffix = null] = named.split(':')
      const alias = url.searchParams.get('Qualifier') ?? suffix
      asking(authorize, headers)(
        'lambda:InvokeFunction',
        alias === null ? functionArn(name) : `${functionArn(name)}:${alias}`,
      )
      const invokable = functions.get(name)
      // Here any service may call: on AWS, cdk.json names them.
      const exists = alias === LIVE_ALIAS || (alias !== null && invokable?.worker.callers === 'named-services')
      if (method !== 'POST' || invokable === undefined || !exists) {
        throw new AwsError('ResourceNotFoundException', `Function not found: ${name}`, 404)
      }
      if (headers['x-amz-invocation-type'] === 'DryRun') return { status: 204 }
      const event: unknown = body.length === 0 ? {} : JSON.parse(body.toString())
      const answer = run(invokable, event, alias)
      if (headers['x-amz-invocation-type'] === 'Event') {
        answer.catch(() => {})
        return { status: 202 }
      }
      try {
        return json(200, await answer)
      } catch (error) {
        const { name: errorType, message: errorMessage } = error instanceof Error ? error : new Error(String(error))
        return json(200, { errorType, errorMessage }, { 'x-amz-function-error': 'Unhandled' })
      }
    }),
  })
  const timers: NodeJS.Timeout[] = []
  const serve = (name: string, invokable: Invokable) => {
    functions.set(name, invokable)
    const { everySeconds } = invokable.worker
    if (everySeconds === undefined) return
    timers.push(setInterval(() => void run(invokable, {}).catch(() => {}), everySeconds * 1000))
  }
  return {
    ...server,
    serve,
    receive: (messages, message) => {
      for (const invokable of functions.values())
        if (invokable.worker.receives === messages) void run(invokable, queueEvent(message)).catch(() => {})
    },
    close: async () => {
      for (const timer of timers) clearInterval(timer)
      await server.close()
    },
  }
}
