import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { StackInfo } from '#infra/local/stack.ts'
import { PROBLEM_BASE_URL } from '#tests/support/problem-base-url.ts'
import { seen } from '#tests/support/documented.ts'
import { PASSWORD } from '#tests/support/service.ts'
import {
  type LaunchOptions,
  removeFolder,
  start,
  type Started,
  stateFolder,
  stop,
} from '#tests/support/stack-process.ts'

/** Returns a state folder for one test. */
export async function ownState(): Promise<string> {
  const folder = await stateFolder()
  onTestFinished(() => removeFolder(folder))
  return join(folder, 'state')
}

/** Starts a stack for one test, which stops it at its end. */
export async function startForTest(stateDir: string, options: LaunchOptions = {}): Promise<Started> {
  const started = await start(stateDir, options)
  onTestFinished(async () => {
    await stop(started)
  })
  return started
}

/** Calls the API. `route` is a method and a path. */
export async function ask(
  info: StackInfo,
  route: string,
  { token, body, headers = {} }: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
) {
  const [method = 'GET', path = '/'] = route.split(' ')
  const response = await fetch(info.gateway_url + path, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  // The type of a problem is a page of the front end, whose port differs in each run.
  const text = (await response.text()).replaceAll(`${info.web_url}/problems/`, `${PROBLEM_BASE_URL}/`)
  seen(method, path, { status: response.status, headers: response.headers, text })
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

export const logIn = (info: StackInfo, email: string) =>
  ask(info, 'POST /v1/auth/login', { body: { email, password: PASSWORD } })

/** Returns the command line of a process, or null if it exited. */
export const commandOf = (pid: number): string | null => {
  try {
    const [, state] = /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    return state === 'Z' ? null : readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return null
  }
}

/** Waits until all these processes exited. Returns the commands of those that still run after a minute. */
export async function survivors(pids: readonly number[]): Promise<string[]> {
  for (let waitedMs = 0; ; waitedMs += 50) {
    const left = pids.flatMap((pid) => commandOf(pid) ?? [])
    if (left.length === 0 || waitedMs > 60_000) return left
    await delay(50)
  }
}
