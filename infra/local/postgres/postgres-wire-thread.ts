import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type PostgresWire, type PostgresWireOptions, ROUND_TRIPS, STATEMENTS } from './postgres-wire.ts'

const HEALTHY = { part: 'postgres', mode: 'ok' }

/**
 * The same proxy as startPostgresWire, in a thread of its own, so that it shares no event loop with what it measures.
 * Its counters lie in shared memory: `counts()` is exact for everything that has been answered.
 */
export async function startPostgresWireThread(options: Omit<PostgresWireOptions, 'counters'>): Promise<PostgresWire> {
  const { host, port, listenPort = 0, faults } = options
  const counters = new Uint32Array(new SharedArrayBuffer(2 * Uint32Array.BYTES_PER_ELEMENT))
  const fault = faults?.current('postgres') ?? HEALTHY
  const worker = new Worker(new URL('./postgres-wire-worker.ts', import.meta.url), {
    workerData: { host, port, listenPort, counters: counters.buffer, fault },
    execArgv: [],
  })
  const [listening]: unknown[] = await once(worker, 'message')

  const applied: (() => void)[] = []
  worker.on('message', () => applied.shift()?.())
  const stopListening = faults?.onChange(
    (change) =>
      new Promise((resolve) => {
        if (change.part !== 'postgres') return resolve()
        applied.push(resolve)
        worker.postMessage(change)
      }),
  )
  const counts = () => ({
    statements: Atomics.load(counters, STATEMENTS),
    roundTrips: Atomics.load(counters, ROUND_TRIPS),
  })
  faults?.countFrom('postgres', () => counts().statements)
  return {
    port: Number(listening),
    counts,
    close: async () => {
      stopListening?.()
      await worker.terminate()
      for (const resolve of applied) resolve()
    },
  }
}
