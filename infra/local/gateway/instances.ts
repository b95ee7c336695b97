import { availableParallelism } from 'node:os'
import type { Writable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import { LIVE_ALIAS } from '#shared/base/live-alias.ts'
import { TimedOut } from './gateway.ts'
import type { Invocation } from './instance-worker.ts'

interface Instance<Result> {
  readonly worker: Worker
  readonly handlerFile: string
  settle: ((outcome: Outcome<Result>) => void) | null
}

type Outcome<Result> = { result: Result } | { error: string; name?: string }

interface Waiting<Event, Result> {
  readonly event: Event
  readonly timeoutMs: number
  readonly alias: string
  readonly settle: (outcome: Outcome<Result>) => void
}

/** A function that can be invoked. Event and Result are its handler's parameter and result. */
export interface Instances<Event, Result> {
  /**
   * Invokes the function by an alias. Throws TimedOut after `timeoutMs`, and any other error if the function failed. The function has this
   * time from when an instance gets the request: one that waited long ends no instance.
   */
  readonly invoke: (event: Event, timeoutMs: number, alias?: string) => Promise<Result>
  /**
   * Runs another file for further invocations; those that run end where they began. Rejects, and changes nothing, if an instance
   * of it does not start.
   */
  deploy(handlerFile: string): Promise<void>
  /** Returns the bytes that each instance's heap uses. */
  heaps(): Promise<number[]>
  close(): Promise<void>
}

/**
 * Runs a function in worker threads that handle one request at a time, as Lambda's instances do, so that a password hash in
 * one delays no other. Starts more instances on demand, up to `most`; further requests queue. Terminates an instance that
 * breaks or exceeds the timeout, or in an invocation for which `killAfterMs` returns a time.
 */
export async function startInstances<Event, Result>(options: {
  handlerFile: string
  functionName: string
  env: Readonly<Record<string, string>>
  most: number
  logs: Writable
  killAfterMs?: () => number | null
}): Promise<Instances<Event, Result>> {
  const { functionName, env, most, logs, killAfterMs = () => null } = options
  let { handlerFile } = options
  // Last in, first out: a few instances stay warm and the others idle.
  const idle: Instance<Result>[] = []
  const all = new Set<Instance<Result>>()
  const waiting: Waiting<Event, Result>[] = []
  let closing = false
  let starting = 0

  const start = (file = handlerFile): Promise<Instance<Result>> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL('./instance-worker.ts', import.meta.url), {
        workerData: { handlerFile: file, functionName },
        env: { ...env },
        stdout: true,
        stderr: true,
      })
      worker.stdout.pipe(logs, { end: false })
      worker.stderr.pipe(logs, { end: false })
      const instance: Instance<Result> = { worker, handlerFile: file, settle: null }
      all.add(instance)
      worker.on('message', (message: Outcome<Result> | { ready: true }) => {
        if ('ready' in message) return resolve(instance)
        instance.settle?.(message)
      })
      worker.on('error', (error) => {
        logs.write(
          `${JSON.stringify({ level: 'ERROR', message: 'instance broke', functionName, error: String(error) })}\n`,
        )
      })
      worker.on('exit', () => {
        all.delete(instance)
        const at = idle.indexOf(instance)
        if (at >= 0) idle.splice(at, 1)
        instance.settle?.({ error: 'the instance broke' })
        reject(new Error(`${functionName} does not start. Its log has the cause`))
        if (waiting.length > 0) grow()
      })
    })

  const serve = (instance: Instance<Result>) => {
    // Its exit starts another for the requests that wait.
    if (instance.handlerFile !== handlerFile) return void instance.worker.terminate()
    const next = waiting.shift()
    if (next === undefined) {
      idle.push(instance)
      return
    }
    const { event, timeoutMs, alias } = next
    const endingAfter = Math.min(timeoutMs, killAfterMs() ?? timeoutMs)
    const ending = setTimeout(() => void instance.worker.terminate(), endingAfter)
    instance.settle = (outcome) => {
      clearTimeout(ending)
      instance.settle = null
      if (all.has(instance) && !closing) serve(instance)
      next.settle(outcome)
    }
    const deadline = Date.now() + timeoutMs
    instance.worker.postMessage({ event, deadline, alias } satisfies Invocation<Event>)
  }

  const grow = () => {
    // A start takes a core. More concurrent starts would stall the running instances.
    if (closing || all.size >= most || starting >= availableParallelism()) return
    starting += 1
    start()
      .then(serve, () => {})
      .finally(() => {
        starting -= 1
        if (waiting.length > 0) grow()
      })
  }

  const invoke = (event: Event, timeoutMs: number, alias = LIVE_ALIAS): Promise<Result> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const place = waiting.indexOf(request)
        if (place >= 0) waiting.splice(place, 1)
        reject(new TimedOut())
      }, timeoutMs)
      const request: Waiting<Event, Result> = {
        event,
        timeoutMs,
        alias,
        settle: (outcome) => {
          clearTimeout(timer)
          if ('result' in outcome) resolve(outcome.result)
          else reject(Object.assign(new Error(outcome.error), { name: outcome.name ?? 'Error' }))
        },
      }
      waiting.push(request)
      const free = idle.pop()
      if (free === undefined) grow()
      else serve(free)
    })

  serve(await start())
  return {
    invoke,
    deploy: async (file) => {
      const first = await start(file)
      handlerFile = file
      for (const { worker } of idle.splice(0)) void worker.terminate()
      serve(first)
    },
    heaps: async () => {
      // An instance that ends meanwhile has none.
      const statistics = await Promise.allSettled([...all].map(({ worker }) => worker.getHeapStatistics()))
      return statistics.flatMap((each) => (each.status === 'fulfilled' ? [each.value.used_heap_size] : []))
    },
    close: async () => {
      closing = true
      await Promise.all([...all].map(({ worker }) => worker.terminate()))
    },
  }
}
