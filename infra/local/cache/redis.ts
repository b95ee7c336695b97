import { type ChildProcess, spawn } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { access, constants, mkdtemp, rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient, type ErrorReply, RESP_TYPES } from '@redis/client'
import { endWithUs } from '#infra/local/end-with-us.ts'

export type RedisReply = string | number | Buffer | null | ErrorReply | RedisReply[]

export type RedisAddress = { readonly url: string } | { readonly socket: { readonly path: string } }

export type RedisConnection = Awaited<ReturnType<typeof connect>>

// The library makes a class for each address. A duplicate has the class of its original.
const original = createClient({
  RESP: 2,
  commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
  disableClientInfo: true,
})

/** Opens a connection. It never reconnects: once it is lost, every command is rejected. */
export const connect = (address: RedisAddress) =>
  original
    .duplicate({
      url: 'url' in address ? address.url : undefined,
      socket: { ...('socket' in address ? address.socket : {}), reconnectStrategy: false },
    })
    // A lost connection is an event here and an error at the commands. Without a listener the event ends the process.
    .on('error', () => {})
    .connect()

/** A server that speaks RESP. Its data is gone after a stop. */
export interface RedisServer {
  readonly kind: 'redis' | 'in-process'
  start(): Promise<RedisAddress>
  stop(): Promise<void>
}

/** Returns REDIS_URL's server, else one found on PATH, run as a child process, else the stand-in in this process. */
export async function chooseServer(force?: 'in-process'): Promise<RedisServer> {
  const { REDIS_URL: url, PATH = '' } = process.env
  if (force === 'in-process') return inProcess()
  if (url) return { kind: 'redis', start: async () => ({ url }), stop: async () => {} }
  const program = await findProgram(['redis-server', 'valkey-server'], PATH)
  return program === undefined ? inProcess() : childProcess(program)
}

async function findProgram(names: readonly string[], path: string): Promise<string | undefined> {
  for (const program of names.flatMap((name) => path.split(delimiter).map((folder) => join(folder || '.', name)))) {
    try {
      await access(program, constants.X_OK)
      return program
    } catch {
      // Not in this folder.
    }
  }
  return undefined
}

const ACCEPTED = 'net.server.socket'

function inProcess(): RedisServer {
  let close = async () => {}
  return {
    kind: 'in-process',
    start: async () => {
      // Loaded only here: it compiles a WebAssembly module that the real servers do not need.
      const { createRedisMock } = await import('js-redis-server')
      const server = await createRedisMock({ databaseCount: 1 })
      // It leaves Nagle's algorithm on: the second reply of a pipeline would wait 40 ms for a delayed acknowledgement.
      const sendDirectly = (message: unknown) => {
        const { socket } = message as { readonly socket: Socket }
        if (socket.localPort === server.port) socket.setNoDelay()
      }
      subscribe(ACCEPTED, sendDirectly)
      close = async () => {
        close = async () => {}
        unsubscribe(ACCEPTED, sendDirectly)
        await server.close()
      }
      return { url: server.url }
    },
    stop: () => close(),
  }
}

const START_TIMEOUT_MS = 10_000

function childProcess(program: string): RedisServer {
  let running: { readonly child: ChildProcess; readonly folder: string } | undefined

  const stop = async () => {
    if (running === undefined) return
    const { child, folder } = running
    running = undefined
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    await rm(folder, { recursive: true, force: true })
  }

  const start = async () => {
    // A socket in a folder of our own needs no port and no password, and no other user can reach it.
    const folder = await mkdtemp(join(tmpdir(), 'tenantry-cache-'))
    const path = join(folder, 'redis.sock')
    const memoryOnly = ['--save', '', '--appendonly', 'no', '--daemonize', 'no', '--dir', folder]
    const child = spawn(program, ['--port', '0', '--unixsocket', path, ...memoryOnly], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const listen = (chunk: Buffer) => {
      output = `${output}${chunk.toString()}`.slice(-2000)
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    child.on('error', (error) => listen(Buffer.from(error.message)))
    running = { child, folder }
    if (child.pid !== undefined) child.once('exit', endWithUs(child.pid, 'KILL'))

    const deadline = Date.now() + START_TIMEOUT_MS
    for (;;) {
      try {
        const client = await connect({ socket: { path } })
        client.destroy()
        return { socket: { path } }
      } catch {
        // Not listening yet.
      }
      if (child.pid === undefined || child.exitCode !== null || Date.now() > deadline) {
        await stop()
        throw new Error(`${program} did not start:\n${output}`)
      }
      await delay(10)
    }
  }

  return { kind: 'redis', start, stop }
}
