import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, constants, mkdtemp, rm } from 'node:fs/promises'
import { connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { endWithUs } from '#infra/local/end-with-us.ts'
import { createRespClient, RedisError, type RespClient } from './resp.ts'

/** A server that speaks RESP. It holds nothing over a stop. */
export interface RedisBacking {
  readonly kind: 'redis' | 'in-process'
  start(): Promise<void>
  stop(): Promise<void>
  /** A new connection, ready for commands. Rejects when the server is stopped. */
  connect(): Promise<RespClient>
}

/** REDIS_URL's server, else one found on PATH as a process of ours, else the stand-in inside this process. */
export async function chooseBacking(force?: 'in-process'): Promise<RedisBacking> {
  if (force === 'in-process') return inProcess()
  const { REDIS_URL, PATH = '' } = process.env
  if (REDIS_URL) return elsewhere(REDIS_URL)
  const program = await findProgram(['redis-server', 'valkey-server'], PATH)
  return program === undefined ? inProcess() : childProcess(program)
}

async function findProgram(names: readonly string[], path: string): Promise<string | undefined> {
  for (const name of names) {
    for (const folder of path.split(delimiter)) {
      const program = join(folder || '.', name)
      const found = await access(program, constants.X_OK).then(
        () => true,
        () => false,
      )
      if (found) return program
    }
  }
  return undefined
}

async function clientOver(stream: Duplex, event: 'connect' | 'secureConnect'): Promise<RespClient> {
  await once(stream, event)
  return createRespClient(stream)
}

function elsewhere(url: string): RedisBacking {
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  const at = { host: hostname, port: Number(port) || 6379 }
  const greeting = [
    ...(password ? [['AUTH', decodeURIComponent(username) || 'default', decodeURIComponent(password)]] : []),
    ['SELECT', pathname.slice(1) || '0'],
  ]
  let running = false
  return {
    kind: 'redis',
    start: async () => {
      running = true
    },
    stop: async () => {
      running = false
    },
    connect: async () => {
      if (!running) throw new Error('The cache is stopped')
      const client = await (protocol === 'rediss:'
        ? clientOver(connectTls({ ...at, servername: hostname }), 'secureConnect')
        : clientOver(connectTcp({ ...at, noDelay: true }), 'connect'))
      const refused = (await client.send(greeting)).find((reply) => reply instanceof RedisError)
      if (refused === undefined) return client
      client.close()
      throw refused
    },
  }
}

async function inProcess(): Promise<RedisBacking> {
  // Loaded only here: its Lua is WebAssembly, which the other two have no use for.
  const { createRedisCommandExecutor, createVirtualConnection, RedisServerState } = await import('js-redis-server/core')
  const executor = createRedisCommandExecutor()
  let state: InstanceType<typeof RedisServerState> | undefined
  return {
    kind: 'in-process',
    start: async () => {
      state ??= new RedisServerState({ databaseCount: 1 })
    },
    stop: async () => {
      state?.close()
      state = undefined
    },
    connect: async () => {
      if (state === undefined) throw new Error('The cache is stopped')
      return createRespClient(createVirtualConnection({ state, executor }).clientSocket)
    },
  }
}

const START_TIMEOUT_MS = 10_000

function childProcess(program: string): RedisBacking {
  let running: { readonly child: ChildProcess; readonly folder: string } | undefined

  const connect = async (): Promise<RespClient> => {
    if (running === undefined) throw new Error('The cache is stopped')
    return clientOver(connectTcp(join(running.folder, 'redis.sock')), 'connect')
  }

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
    if (running !== undefined) return
    // A socket in a folder of our own needs no port and no password, and no other user can reach it.
    const folder = await mkdtemp(join(tmpdir(), 'tenantry-cache-'))
    const memoryOnly = ['--save', '', '--appendonly', 'no', '--daemonize', 'no', '--dir', folder]
    const child = spawn(program, ['--port', '0', '--unixsocket', join(folder, 'redis.sock'), ...memoryOnly], {
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
      const client = await connect().catch(() => undefined)
      client?.close()
      if (client !== undefined) return
      if (child.pid === undefined || child.exitCode !== null || Date.now() > deadline) {
        await stop()
        throw new Error(`${program} did not start:\n${output}`)
      }
      await delay(10)
    }
  }

  return { kind: 'redis', start, stop, connect }
}
