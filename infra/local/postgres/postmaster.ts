import { type ChildProcess, spawn } from 'node:child_process'
import { open, readFile, readlink, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readIfThere } from '#infra/local/private-file.ts'
import { bareEnvironment, type PostgresFiles, runAs } from './postgres-files.ts'

/** Another postmaster runs on the cluster. `pid` is its process. */
export class PostgresStillRunning extends Error {
  override name = 'PostgresStillRunning'
  readonly pid: number

  constructor(pid: number, cluster: string) {
    super(`Postgres (process ${pid}) still runs on ${cluster}. Stop it first: kill -INT ${pid}`)
    this.pid = pid
  }
}

/** The postmaster ended before it was ready. `output` is the end of its log. */
export class PostgresNotStarted extends Error {
  override name = 'PostgresNotStarted'
  readonly output: string

  constructor(output: string) {
    super(`Postgres did not start:\n${output}`)
    this.output = output
  }
}

const READY_TIMEOUT_MS = 60_000

/** Starts a postmaster on the cluster and waits until it accepts connections. Appends its output to `logFile`. */
export async function startPostmaster(
  { program, cluster }: PostgresFiles,
  settings: Readonly<Record<string, string | number>>,
  logFile: string,
): Promise<ChildProcess> {
  await clearStalePid(cluster)
  const log = await open(logFile, 'a', 0o600)
  const { size } = await log.stat()
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  // Detached from the process group, so that Ctrl-C reaches only the stack, which stops its parts in order.
  const child = spawn(program, ['-D', cluster, ...flags], {
    ...runAs,
    cwd: cluster,
    env: bareEnvironment,
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  })
  await log.close()
  let failure: Error | undefined
  child.once('error', (error) => {
    failure = error
  })

  const deadline = Date.now() + READY_TIMEOUT_MS
  while (!(await isReady(cluster, child))) {
    if (failure !== undefined) throw failure
    if (child.exitCode !== null || child.signalCode !== null) throw new PostgresNotStarted(await tail(logFile, size))
    if (Date.now() > deadline) {
      child.kill('SIGQUIT')
      throw new PostgresNotStarted(await tail(logFile, size))
    }
    await delay(10)
  }
  return child
}

const tail = async (path: string, from: number): Promise<string> =>
  (await readFile(path)).subarray(from).toString().slice(-2000)

const pidFileOf = (cluster: string): string => join(cluster, 'postmaster.pid')

/** Returns whether the eighth line of the lock file is 'ready'. pg_ctl waits for the same. */
async function isReady(cluster: string, child: ChildProcess): Promise<boolean> {
  const lines = (await readIfThere(pidFileOf(cluster)))?.split('\n') ?? []
  return Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready'
}

/**
 * Removes the lock file of a killed postmaster whose process id another process of the same user now has. Postgres itself
 * takes over any other stale lock file.
 */
async function clearStalePid(cluster: string): Promise<void> {
  const pid = Number((await readIfThere(pidFileOf(cluster)))?.split('\n')[0])
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return
  if (await isPostmasterOf(pid, cluster)) throw new PostgresStillRunning(pid, cluster)
  await rm(pidFileOf(cluster), { force: true })
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

async function isPostmasterOf(pid: number, cluster: string): Promise<boolean> {
  // Only Linux has /proc. Elsewhere any process with that id counts as the postmaster: refusing is safe.
  if (process.platform !== 'linux') return true
  try {
    return (await readlink(`/proc/${pid}/cwd`)) === (await realpath(cluster))
  } catch {
    return false
  }
}
