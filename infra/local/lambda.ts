import { DEFAULT_TIMEOUT_SECONDS, SCHEDULES } from '#infra/schedules.ts'
import { AwsError, withAwsFailures } from './aws-endpoints.ts'
import { type HttpServer, json, startHttpServer } from './http-server.ts'

/** A function by its name. */
export type Invokable = (event: unknown, timeoutMs: number) => Promise<unknown>

const timeoutMs = (name: string): number => (SCHEDULES[name]?.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000

/**
 * Lambda's Invoke for the unmodified SDK client, and the schedules of the jobs. An asynchronous invocation is answered at
 * once; a function that fails then is not tried again, since its schedule does that.
 */
export async function startLambda(functions: ReadonlyMap<string, Invokable>): Promise<HttpServer> {
  const server = await startHttpServer({
    answer: withAwsFailures(async ({ method, url, headers, body }) => {
      const [, name = ''] = /^\/2015-03-31\/functions\/([\w-]+)\/invocations$/.exec(url.pathname) ?? []
      const invoke = functions.get(name)
      if (method !== 'POST' || invoke === undefined) {
        throw new AwsError('ResourceNotFoundException', `Function not found: ${name}`, 404)
      }
      const event: unknown = body.length === 0 ? {} : JSON.parse(body.toString())
      const run = invoke(event, timeoutMs(name))
      if (headers['x-amz-invocation-type'] === 'Event') {
        run.catch(() => {})
        return { status: 202 }
      }
      try {
        return json(200, await run)
      } catch (error) {
        const errorMessage = error instanceof Error ? error.message : String(error)
        return json(200, { errorType: 'Error', errorMessage }, { 'x-amz-function-error': 'Unhandled' })
      }
    }),
  })
  const timers = Object.entries(SCHEDULES).map(([name, { everySeconds }]) =>
    setInterval(
      () =>
        void functions
          .get(name)?.({}, timeoutMs(name))
          .catch(() => {}),
      everySeconds * 1000,
    ),
  )
  return {
    ...server,
    close: async () => {
      for (const timer of timers) clearInterval(timer)
      await server.close()
    },
  }
}
