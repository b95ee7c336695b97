import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { urlFor } from '#infra/local/postgres/database.ts'
import { type Postgres, startPostgres } from '#infra/local/postgres/postgres.ts'
import { errorCode } from '#shared/db/failure.ts'
import { processTree } from '#tests/support/process-tree.ts'
import { openEndpoint } from './endpoint.ts'
import { startStandby } from './standby.ts'

const DATABASE = 'tenantry'
const READY_MS = 60_000
const TOO_MANY_CONNECTIONS = '53300'

/** A Postgres of our own behind one address, with a standby that may take its place. */
export interface Server {
  /** The database for the stack, as the superuser. The address stays the same over a failover. */
  readonly url: string
  /** Runs queries as the superuser on a connection of their own to the primary. Runs them again when no connection was free. */
  look<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T>
  stop(mode: 'fast' | 'immediate'): Promise<void>
  start(): Promise<void>
  /** Sends a signal to the postmaster and its children. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
  /** Kills one backend of the service without a chance to clean up. Postgres then ends all the others. */
  killBackend(): Promise<void>
  /** Starts a standby in the background. */
  follow(): void
  /** Waits until the standby has everything, and makes each commit wait for it from then on, as Aurora's storage does. */
  synchronize(): Promise<void>
  /** Promotes the standby and moves the address to it. The old primary is stopped and deleted. */
  promote(): Promise<void>
  close(): Promise<void>
}

export async function startServer(folder: string): Promise<Server> {
  let servers = 0
  const nextFolder = () => {
    servers += 1
    return join(folder, `postgres-${servers}`)
  }
  let dataDir = nextFolder()
  let primary = await startPostgres({ dataDir, durable: true })
  let standby: Promise<{ dataDir: string; server: Postgres }> | undefined
  const endpoint = await openEndpoint(primary.port)

  const lookAt = async <T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> => {
    // postgres.js fetches types in a promise that nobody awaits: a cut connection would end the run.
    const options = { max: 1, fetch_types: false, onnotice: () => {} }
    for (const deadline = Date.now() + READY_MS; ; await delay(50)) {
      const sql = postgres(url, { ...options, connection: { search_path: 'app, public' } })
      try {
        return await work(sql)
      } catch (error) {
        // A client has a slot until Postgres refuses it, even one that is reserved for superusers.
        if (errorCode(error) !== TOO_MANY_CONNECTIONS || Date.now() > deadline) throw error
      } finally {
        await sql.end({ timeout: 1 })
      }
    }
  }
  await lookAt(primary.adminUrl, (sql) => sql`create database ${sql(DATABASE)}`)
  const look: Server['look'] = (work) => lookAt(urlFor(primary.adminUrl, { database: DATABASE }), work)

  const until = async (what: string, isTrue: () => Promise<boolean>): Promise<void> => {
    for (const deadline = Date.now() + READY_MS; !(await isTrue().catch(() => false)); await delay(50))
      if (Date.now() > deadline) throw new Error(`${what} took too long`)
  }

  const signal = (of: Postgres, name: 'SIGSTOP' | 'SIGCONT') => {
    for (const pid of processTree(of.pid())) {
      try {
        process.kill(pid, name)
      } catch (error) {
        // A backend may have exited since its postmaster was asked for it.
        if (errorCode(error) !== 'ESRCH') throw error
      }
    }
  }
  /** Crashes a server that may be stopped: a stopped process obeys no other signal. */
  const crash = async (server: Postgres): Promise<void> => {
    try {
      signal(server, 'SIGCONT')
    } catch {
      // It was killed.
    }
    await server.stop('immediate')
  }
  let retired: Promise<void> = Promise.resolve()
  const retire = async (old: { server: Postgres; dataDir: string }): Promise<void> => {
    await crash(old.server)
    await rm(old.dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }

  const follow = () => {
    const home = { dataDir, port: primary.port, adminUrl: primary.adminUrl }
    const next = nextFolder()
    standby = startStandby(home, next).then((server) => ({ dataDir: next, server }))
    // `promote` reports the failure.
    standby.catch(() => {})
  }

  return {
    url: urlFor(primary.adminUrl, { database: DATABASE, port: endpoint.port }),
    look,
    stop: (mode) => primary.stop(mode),
    start: () => primary.start(),
    signal: (name) => signal(primary, name),
    killBackend: () =>
      // A service that has just recovered may not have a connection yet.
      until('the death of a backend', async () => {
        const [backend] = await look(
          (sql) => sql<{ pid: number }[]>`
            select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() limit 1`,
        )
        return backend !== undefined && process.kill(backend.pid, 'SIGKILL')
      }).then(() => until('the recovery of Postgres', () => look(async (sql) => (await sql`select`).length === 1))),
    follow,
    synchronize: async () => {
      // A run of some scenarios may lack the one that makes the standby.
      if (standby === undefined) follow()
      await standby
      await look(async (sql) => {
        await sql`alter system set synchronous_standby_names = '*'`
        await sql`select pg_reload_conf()`
      })
      await until('the standby', () =>
        look(async (sql) => (await sql`select from pg_stat_replication where sync_state = 'sync'`).length === 1),
      )
    },
    promote: async () => {
      const next = await standby
      if (next === undefined) throw new Error('there is no standby')
      standby = undefined
      await lookAt(next.server.adminUrl, (sql) => sql`select pg_promote()`)
      const old = { dataDir, server: primary }
      primary = next.server
      dataDir = next.dataDir
      endpoint.moveTo(primary.port)
      retired = retire(old)
    },
    close: async () => {
      await retired
      await endpoint.close()
      await (await standby?.catch(() => undefined))?.server.stop('immediate')
      await crash(primary)
    },
  }
}
