import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { FixedAccess } from './access.ts'
import { seen } from './documented.ts'
import { PASSWORD } from './service.ts'
import { TEST_SETTINGS } from './settings.ts'

/** A response, and how long it took. */
export interface TimedAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: any
  readonly afterMs: number
}

export interface ServerProcess {
  readonly url: string
  request(route: string, options?: { token?: string | undefined; body?: unknown }): Promise<TimedAnswer>
  logIn(email: string, password?: string): Promise<TimedAnswer>
  /** Signs in and selects the person's first tenant. */
  signIn(email: string): Promise<string>
  /** Returns null while the process runs, else its exit code and its last output. */
  death(): string | null
  stop(): Promise<void>
  /** Ends the process as a crash does. */
  kill(): Promise<void>
}

const LAST_WORDS = 3000

/** Starts the service and the group `writes` in a process. Password hashes are cheap. */
export async function startServerProcess(
  access: FixedAccess,
  env: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  const child = fork(fileURLToPath(new URL('./serve.ts', import.meta.url)), {
    env: {
      PATH: process.env['PATH'],
      POWERTOOLS_LOG_LEVEL: 'SILENT',
      DATABASE_CONNECTIONS: '6',
      ...TEST_SETTINGS,
      ...env,
      SERVICE_ACCESS: JSON.stringify(access),
    },
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-LAST_WORDS)
    })
  }
  const ended = once(child, 'exit')
  const message = await Promise.race([
    once(child, 'message').then(([first]) => first as { url: string }),
    ended.then(() => Promise.reject(new Error(`The server did not start:\n${said}`))),
  ])
  const { url } = message

  const request: ServerProcess['request'] = async (route, { token, body } = {}) => {
    const [method = 'GET', path = '/'] = route.split(' ')
    const asked = performance.now()
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const afterMs = performance.now() - asked
    seen(method, path, { status: response.status, headers: response.headers, text })
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? null : JSON.parse(text),
      afterMs,
    }
  }

  const logIn = (email: string, password = PASSWORD) => request('POST /v1/auth/login', { body: { email, password } })

  return {
    url,
    request,
    logIn,
    signIn: async (email) => {
      const { body, status } = await logIn(email)
      if (status !== 200) throw new Error(`sign-in of ${email}: ${status}`)
      const { token } = body
      const choices = await request('GET /v1/auth/tenants', { token })
      const selected = await request(`POST /v1/auth/tenants/${choices.body.data[0].tenant.id}/select`, { token })
      if (selected.status !== 200) throw new Error(`select: ${selected.status}`)
      return token
    },
    death: () =>
      child.exitCode === null && child.signalCode === null
        ? null
        : `ended with ${child.exitCode ?? child.signalCode}:\n${said}`,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.disconnect()
      await ended
    },
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}
