import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { endWithUs } from '#infra/local/end-with-us.ts'
import { listen } from '#infra/local/listen.ts'
import { readIfThere, writePrivateFile } from '#infra/local/private-file.ts'
import { preparePostgres } from './postgres-files.ts'
import { PostgresNotStarted, PostgresStillRunning, startPostmaster } from './postmaster.ts'

export interface Postgres {
  /** The URL of the database `postgres` for its superuser. */
  readonly adminUrl: string
  readonly port: number
  /** 'fast' rolls back open transactions. 'immediate' is a crash, from which the next start recovers. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
  /** Starts it again on the same port. Does nothing if it runs. */
  start(): Promise<void>
  /** Returns the postmaster's process id. Throws if it does not run. */
  pid(): number
  /** Stops it in mode 'fast'. */
  close(): Promise<void>
}

export interface PostgresOptions {
  /** The folder of cluster, password, port and log. Created on first use. */
  readonly dataDir: string
  /** False for a cluster whose data a crash may destroy: it runs without fsync and autovacuum. */
  readonly durable: boolean
  /** Without one, the previous port, or any free port if that one is taken. */
  readonly port?: number
  /** Libraries for shared_preload_libraries, such as pg_stat_statements. */
  readonly preload?: readonly string[]
}

const STOP_TIMEOUT_MS = 20_000
const ATTEMPTS = 20
const ATTEMPT_DELAY_MS = 250

/**
 * Starts a Postgres server on 127.0.0.1 as a child process. Recovers from a crash. Throws PostgresStillRunning if another
 * postmaster runs on the cluster, and PostgresNotStarted with the output of Postgres if it does not start.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const files = await preparePostgres(options.dataDir)
  const portFile = join(options.dataDir, 'port')
  const logFile = join(options.dataDir, 'postgres.log')
  let port = options.port || (await choosePort(Number(await readIfThere(portFile))))
  let child: ChildProcess | undefined

  const start = async () => {
    if (child !== undefined) return
    const started = await startPatiently(files, settingsFor(options, port), logFile)
    child = started
    const callOff = started.pid === undefined ? () => {} : endWithUs(started.pid, 'INT')
    started.once('exit', () => {
      callOff()
      child = undefined
    })
  }

  const stop = async (mode: 'fast' | 'immediate' = 'fast') => {
    const stopping = child
    if (stopping === undefined) return
    const ended = once(stopping, 'exit')
    stopping.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    const timer = setTimeout(() => stopping.kill('SIGQUIT'), STOP_TIMEOUT_MS)
    await ended
    clearTimeout(timer)
  }

  await rm(logFile, { force: true })
  try {
    await start()
  } catch (error) {
    // Somebody else took the free port in the meantime.
    if (options.port || !(error instanceof PostgresNotStarted) || !error.output.includes('could not bind')) throw error
    port = await choosePort(0)
    await start()
  }
  await writePrivateFile(portFile, String(port))
  return {
    adminUrl: `postgres://postgres:${files.password}@127.0.0.1:${port}/postgres`,
    port,
    start,
    stop,
    close: () => stop('fast'),
    pid: () => {
      if (child?.pid === undefined) throw new Error('Postgres does not run')
      return child.pid
    },
  }
}

const settingsFor = ({ durable, preload = [] }: PostgresOptions, port: number) => ({
  port,
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  jit: 'off',
  client_connection_check_interval: '1000',
  timezone: 'UTC',
  log_timezone: 'UTC',
  shared_preload_libraries: preload.join(','),
  // Roles whose password is set there open a connection with less work.
  ...(durable
    ? {}
    : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off', scram_iterations: 1 }),
})

async function startPatiently(...start: Parameters<typeof startPostmaster>): Promise<ChildProcess> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startPostmaster(...start)
    } catch (error) {
      // After the parent or the postmaster was killed, the rest of Postgres needs a moment to exit.
      const busy =
        error instanceof PostgresStillRunning ||
        (error instanceof PostgresNotStarted && error.output.includes('is still in use'))
      if (!busy || attempt === ATTEMPTS) throw error
      await delay(ATTEMPT_DELAY_MS)
    }
  }
}

async function choosePort(wanted: number): Promise<number> {
  return (Number.isInteger(wanted) && wanted > 0 && (await freePort(wanted))) || (await freePort(0)) || 0
}

/** Returns the port if it is free, any free port for 0, or undefined. */
async function freePort(wanted: number): Promise<number | undefined> {
  const server = createServer()
  try {
    return await listen(server, wanted)
  } catch {
    return undefined
  } finally {
    server.close()
  }
}
