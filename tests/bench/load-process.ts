import autocannon from 'autocannon'
import { answerQuestions } from './processes.ts'
import { quantile } from './statistics.ts'

/** One run of load: GET requests, each with the next of many tokens. */
export interface LoadJob {
  readonly url: string
  readonly path: string
  readonly connections: number
  readonly seconds: number
  /** Divided among the connections. */
  readonly tokens: readonly string[]
}

/** The result of a run. Times are in milliseconds. */
export interface LoadResult {
  readonly requests: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  /** Responses other than 2xx, and requests without a response. */
  readonly failures: number
}

answerQuestions({}, async (job): Promise<LoadResult> => {
  const { url, path, connections, seconds, tokens } = job as LoadJob
  const share = Math.floor(tokens.length / connections)
  const times: number[] = []
  let client = 0
  const run = autocannon({
    url,
    connections,
    duration: seconds,
    sampleInt: 100,
    setupClient: (connection) => {
      const own = tokens.slice(client * share, (client + 1) * share)
      client += 1
      connection.setRequests(
        own.map((token) => ({ method: 'GET', path, headers: { authorization: `Bearer ${token}` } })),
      )
    },
  })
  const started = performance.now()
  run.on('response', (_client, _status, _bytes, ms) => times.push(ms))
  const { non2xx, errors } = await run
  const elapsed = (performance.now() - started) / 1000
  return {
    requests: times.length,
    perSecond: times.length / elapsed,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    failures: non2xx + errors,
  }
})
