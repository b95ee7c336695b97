import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { endWithUs } from '#infra/local/end-with-us.ts'
import { TimedOut } from '#infra/local/gateway/gateway.ts'
import { json, type LocalReply, startHttpServer } from '#infra/local/http-server.ts'

/** A function to run. `environment` is the complete environment of its process. */
export interface DeployedFunction {
  readonly name: string
  readonly arn: string
  readonly environment: Readonly<Record<string, string>>
  readonly taskRoot: string
  readonly timeoutSeconds: number
}

/** An instance of a function: a process that handles one invocation at a time. */
export interface Instance {
  /** The duration from spawn to the first request for work, and the CPU time of loading the handler. */
  readonly initMs: number
  readonly initCpuMs: number
  /** Invokes the function. Throws if it throws, exits or times out. After an exit or timeout the instance is dead. */
  invoke(event: unknown): Promise<unknown>
  readonly dead: boolean
  close(): Promise<void>
}

const BOOTSTRAP = fileURLToPath(new URL('./bootstrap.ts', import.meta.url))
const INIT_TIMEOUT_MS = 30_000
const OUTPUT_MAX_CHARACTERS = 2000

/**
 * Starts an instance with its own Lambda Runtime API. Suspends it between invocations, as Lambda freezes an instance. Throws an
 * error with its output if it does not request work.
 */
export async function startInstance(deployed: DeployedFunction, log: (text: string) => void): Promise<Instance> {
  const { name, arn, environment, taskRoot, timeoutSeconds } = deployed
  let child: ChildProcess | undefined
  let output = ''
  // Either it waits for work (`asking`), or work waits for it (`work`).
  let asking: ((work: LocalReply) => void) | undefined
  let work: LocalReply | undefined
  let running: { id: string; settle: (outcome: { result: unknown } | { error: Error }) => void } | undefined
  const started = Promise.withResolvers<number>()

  const settle = (id: string | undefined, outcome: { result: unknown } | { error: Error }) => {
    if (running === undefined || (id !== undefined && id !== running.id)) return
    const { settle: done } = running
    running = undefined
    done(outcome)
  }

  const taken = (next: LocalReply): LocalReply => {
    work = undefined
    return next
  }

  const server = await startHttpServer({
    answer: ({ url, headers, body }) => {
      const [, id, kind] = /^\/2018-06-01\/runtime\/(?:init|invocation\/([\w-]+))(?:\/(\w+))?$/.exec(url.pathname) ?? []
      if (id === 'next') {
        if (work !== undefined) return taken(work)
        child?.kill('SIGSTOP')
        started.resolve(Number(headers['x-cpu-ms']))
        return new Promise<LocalReply>((resolve) => {
          asking = resolve
        })
      }
      const sent = JSON.parse(body.toString() || 'null')
      if (kind === 'response') settle(id, { result: sent })
      else {
        const error = new Error(`${name}: ${sent?.errorType}: ${sent?.errorMessage}`)
        if (id === undefined) started.reject(error)
        else settle(id, { error })
      }
      return json(202, { status: 'OK' })
    },
  })

  const spawned = performance.now()
  const program = spawn(process.execPath, [BOOTSTRAP], {
    cwd: taskRoot,
    env: { ...environment, AWS_LAMBDA_RUNTIME_API: server.url.replace('http://', '') },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child = program
  const callOff = program.pid === undefined ? () => {} : endWithUs(program.pid, 'KILL')
  for (const stream of [program.stdout, program.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-OUTPUT_MAX_CHARACTERS)
      log(chunk.toString())
    })
  }
  const ended = once(program, 'close')
  program.once('exit', (code, signal) => {
    callOff()
    const error = new Error(`${name} exited with ${code ?? signal}:\n${output}`)
    started.reject(error)
    settle(undefined, { error })
  })
  const close = async () => {
    program.kill('SIGKILL')
    await ended
    await server.close()
  }

  const timer = setTimeout(
    () => started.reject(new Error(`${name} does not request work:\n${output}`)),
    INIT_TIMEOUT_MS,
  )
  let initCpuMs: number
  try {
    initCpuMs = await started.promise
  } catch (error) {
    await close()
    throw error
  } finally {
    clearTimeout(timer)
  }
  const initMs = performance.now() - spawned

  return {
    initMs,
    initCpuMs,
    close,
    get dead() {
      return program.exitCode !== null || program.signalCode !== null
    },
    invoke: (event) =>
      new Promise((resolve, reject) => {
        const id = randomUUID()
        const deadline = Date.now() + timeoutSeconds * 1000
        const late = setTimeout(() => {
          running = undefined
          program.kill('SIGKILL')
          void ended.then(() => reject(new Error(`${name} timed out after ${timeoutSeconds} s`)))
        }, timeoutSeconds * 1000)
        running = {
          id,
          settle: (outcome) => {
            clearTimeout(late)
            if ('result' in outcome) resolve(outcome.result)
            else reject(outcome.error)
          },
        }
        const given = json(200, event, {
          'lambda-runtime-aws-request-id': id,
          'lambda-runtime-deadline-ms': String(deadline),
          'lambda-runtime-invoked-function-arn': arn,
        })
        program.kill('SIGCONT')
        if (asking === undefined) work = given
        else asking(given)
        asking = undefined
      }),
  }
}

/** A function that can be invoked. */
export interface Pool {
  /** Invokes the function. Throws TimedOut after `timeoutMs`, but does not stop the instance. Otherwise throws as Instance does. */
  invoke(event: unknown, timeoutMs: number): Promise<unknown>
  close(): Promise<void>
}

/** Runs a function in up to `most` instances. Starts one when all others are busy. Further invocations queue. */
export function startPool(
  deployed: DeployedFunction,
  { most, log }: { most: number; log: (text: string) => void },
): Pool {
  const starting = new Set<Promise<Instance>>()
  const living = new Set<Instance>()
  const idle: Instance[] = []
  const waiting: ((instance: Instance) => void)[] = []

  const release = (instance: Instance) => {
    const next = waiting.shift()
    if (next === undefined) idle.push(instance)
    else next(instance)
  }

  const start = async (): Promise<Instance> => {
    const started = startInstance(deployed, log)
    starting.add(started)
    try {
      const instance = await started
      living.add(instance)
      return instance
    } finally {
      starting.delete(started)
    }
  }

  const acquire = async (): Promise<Instance> => {
    const free = idle.pop()
    if (free !== undefined) return free
    if (starting.size + living.size < most) return start()
    return new Promise((resolve) => waiting.push(resolve))
  }

  const run = async (event: unknown): Promise<unknown> => {
    const instance = await acquire()
    try {
      return await instance.invoke(event)
    } finally {
      if (instance.dead) {
        living.delete(instance)
        await instance.close()
        if (waiting.length > 0) start().then(release, () => {})
      } else release(instance)
    }
  }

  return {
    invoke: async (event, timeoutMs) => {
      const timer = Promise.withResolvers<never>()
      const timeout = setTimeout(() => timer.reject(new TimedOut()), timeoutMs)
      try {
        return await Promise.race([run(event), timer.promise])
      } finally {
        clearTimeout(timeout)
      }
    },
    close: async () => {
      await Promise.allSettled(starting)
      await Promise.all([...living].map((instance) => instance.close()))
    },
  }
}
