import autocannon, { type CannonRequest } from 'autocannon'
import { answerQuestions } from './processes.ts'
import { quantile } from './statistics.ts'

/** One run of load. */
export interface LoadJob {
  readonly url: string
  /** The load ends after this time, and drops what it waits for, or after this number of requests. */
  readonly until: { readonly seconds: number } | { readonly requests: number }
  /** What each connection sends, again and again. There are as many connections as lists. */
  readonly requests: readonly (readonly CannonRequest[])[]
  /** How many requests in a row are one operation; 1 if it is not given. */
  readonly perOperation?: number
}

/** The result of a run. Times are in milliseconds. */
export interface LoadResult {
  /** Operations that have ended. */
  readonly requests: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  /** Responses other than 2xx, and requests without a response. */
  readonly failures: number
}

answerQuestions({}, async (job): Promise<LoadResult> => {
  const { url, until, requests, perOperation = 1 } = job as LoadJob
  const times: number[] = []
  const begun = new WeakMap<object, { requests: number; ms: number }>()
  let client = 0
  const run = autocannon({
    url,
    connections: requests.length,
    ...('seconds' in until ? { duration: until.seconds } : { amount: until.requests }),
    sampleInt: 100,
    setupClient: (connection) => {
      connection.setRequests(requests[client % requests.length] ?? [])
      client += 1
    },
  })
  const started = performance.now()
  let ended = started
  run.on('response', (connection, _status, _bytes, ms) => {
    ended = performance.now()
    const operation = begun.get(connection) ?? { requests: 0, ms: 0 }
    operation.requests += 1
    operation.ms += ms
    begun.set(connection, operation)
    if (operation.requests < perOperation) return
    times.push(operation.ms)
    begun.delete(connection)
  })
  const { non2xx, errors } = await run
  const elapsed = (ended - started) / 1000
  return {
    requests: times.length,
    perSecond: times.length / elapsed,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    failures: non2xx + errors,
  }
})
