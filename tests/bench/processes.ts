import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Cleanup } from './cleanup.ts'

/** A process of the benchmark that answers one question at a time. */
export interface BenchProcess<Greeting, Question, Answer> {
  readonly greeting: Greeting
  ask(question: Question): Promise<Answer>
}

/**
 * Runs a file of this folder as a process of its own, with these options, and resolves to it and its greeting once it
 * is ready. It ends with the cleanup, and also when this process is gone.
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
  cleanup.add(() => {
    child.kill('SIGKILL')
  })

  const next = <Message>(): Promise<Message> =>
    new Promise((resolve, reject) => {
      const ended = () => reject(new Error(`${file} ended`))
      if (!child.connected) ended()
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
      child.send(question as object)
      return answer
    },
  }
}

const OPTIONS = 'TENANTRY_BENCH_OPTIONS'

/** In a process that startProcess runs: the options that it was given. */
export function givenOptions(): unknown {
  return JSON.parse(process.env[OPTIONS] ?? '{}')
}

/** In a process that startProcess runs: greets, and from then on answers. A failure ends the process. */
export function answerQuestions(greeting: object, answer: (question: unknown) => object | Promise<object>): void {
  process.on('SIGINT', () => {})
  process.on('disconnect', () => process.exit(0))
  process.on('message', (question: unknown) => {
    void (async () => process.send?.(await answer(question)))()
  })
  process.send?.(greeting)
}

/** A server: it greets with its address, and answers every question with the CPU time it has used. */
export type ServerProcess = BenchProcess<{ readonly url: string }, object, { readonly cpuMicros: number }>

/** In a server's process: makes it a ServerProcess. */
export function serveAt(url: string): void {
  answerQuestions({ url }, () => {
    const { user, system } = process.cpuUsage()
    return { cpuMicros: user + system }
  })
}
