import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Cleanup } from './cleanup.ts'

/** A process of the benchmark that handles one request at a time. */
export interface BenchProcess<Greeting, Question, Answer> {
  readonly greeting: Greeting
  ask(question: Question): Promise<Answer>
}

/**
 * Runs a file of this folder in its own process with these options. Returns it with its greeting when it is ready. It ends
 * with the cleanup, and when this process exits.
 */
export async function startProcess<Greeting, Question, Answer>(
  file: string,
  options: object,
  cleanup: Cleanup,
): Promise<BenchProcess<Greeting, Question, Answer>> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), {
    env: { ...process.env, [OPTIONS]: JSON.stringify(options) },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const report = (code: number | null, signal: string | null) =>
    console.error(`${file} ended: ${signal ?? `exit code ${code}`}`)
  child.once('exit', report)
  cleanup.add(() => {
    child.off('exit', report)
    child.kill('SIGKILL')
  })

  const next = <Message>(): Promise<Message> =>
    new Promise((resolve, reject) => {
      const ended = () => reject(new Error(`${file} ended`))
      if (!child.connected) return ended()
      child.once('exit', ended)
      child.once('message', (message) => {
        child.off('exit', ended)
        resolve(message as Message)
      })
    })

  const greeting = await next<Greeting>()
  return {
    greeting,
    ask: (question) => {
      const answer = next<Answer>()
      if (child.connected) child.send(question as object)
      return answer
    },
  }
}

const OPTIONS = 'TENANTRY_BENCH_OPTIONS'

/** Returns the options of this process, which startProcess started. */
export function givenOptions(): unknown {
  return JSON.parse(process.env[OPTIONS] ?? '{}')
}

/** Sends the greeting, then a reply to each request. A failure ends the process. For a process that startProcess started. */
export function answerQuestions(greeting: object, answer: (question: unknown) => object | Promise<object>): void {
  process.on('SIGINT', () => {})
  process.on('disconnect', () => process.exit(0))
  process.on('message', (question: unknown) => {
    void (async () => process.send?.(await answer(question)))()
  })
  process.send?.(greeting)
}

/** A server whose greeting is its address, and whose every reply is the CPU time that it used. */
export type ServerProcess = BenchProcess<{ readonly url: string }, object, { readonly cpuMicros: number }>

/** Makes this process a ServerProcess. */
export function serveAt(url: string): void {
  answerQuestions({ url }, () => {
    const { user, system } = process.cpuUsage()
    return { cpuMicros: user + system }
  })
}
