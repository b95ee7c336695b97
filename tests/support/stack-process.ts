import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { StackInfo } from '#infra/local/stack.ts'

const START = fileURLToPath(new URL('../../infra/local/start.ts', import.meta.url))

/** The longest that a start may take on a busy machine. A start that hangs fails the test with its output. */
export const READY_TIMEOUT_MS = 120_000

export interface Started {
  readonly child: ChildProcess
  readonly info: StackInfo
  readonly readyMs: number
}

/** Creates a folder that the user of Postgres may enter. */
export async function stateFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-test-'))
  await chmod(folder, 0o755)
  return folder
}

export const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })

export interface LaunchOptions {
  readonly args?: string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Runs `npm start` on a state, on free ports. */
export function launch(stateDir: string, { args = [], env = {} }: LaunchOptions = {}) {
  const child = spawn(process.execPath, [START, ...args], {
    env: { PATH: process.env['PATH'], STATE_DIR: stateDir, PORT: '0', WEB_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  return { child, output: () => output, exited: once(child, 'exit').then(([code]: unknown[]) => code) }
}

/** Runs `npm start` and waits until it is ready. */
export async function start(stateDir: string, options: LaunchOptions = {}): Promise<Started> {
  const launchedAt = performance.now()
  const { child, output } = launch(stateDir, options)
  while (!output().includes('is ready')) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`The start failed:\n${output()}`)
    if (performance.now() - launchedAt > READY_TIMEOUT_MS) {
      child.kill('SIGKILL')
      throw new Error(`The stack did not become ready:\n${output()}`)
    }
    await delay(20)
  }
  const readyMs = performance.now() - launchedAt
  return { child, info: JSON.parse(await readFile(join(stateDir, 'stack.json'), 'utf8')), readyMs }
}

/** Stops a stack with a signal. Returns its exit code. */
export async function stop({ child }: Pick<Started, 'child'>, signal: NodeJS.Signals = 'SIGINT'): Promise<unknown> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const exited = once(child, 'exit')
  child.kill(signal)
  const [code] = await exited
  return code
}
