import type { LoadJob, LoadResult } from './load-process.ts'
import { postgresCpuMicros } from './postgres-cpu.ts'
import type { BenchProcess, ServerProcess } from './processes.ts'

export type Loader = BenchProcess<object, LoadJob, LoadResult>

/** A server under load. */
export interface LoadedServer {
  readonly url: string
  /** The processes that do its work, apart from Postgres. */
  readonly processes: readonly ServerProcess[]
}

/** The result of one load, and the processor time of one operation. */
export interface Turn extends LoadResult {
  readonly serverMicros: number
  readonly postgresMicros: number
  readonly cpuMicros: number
}

export const serverCpuMicros = async ({ processes }: LoadedServer): Promise<number> => {
  const used = await Promise.all(processes.map((each) => each.ask({})))
  return used.reduce((sum, each) => sum + each.cpuMicros, 0)
}

/** Loads a server. `postmaster` is the process id of its Postgres, which must do nothing else meanwhile. */
export async function loadTurn(
  loader: Loader,
  server: LoadedServer,
  postmaster: number,
  job: Omit<LoadJob, 'url'>,
): Promise<Turn> {
  const before = [await serverCpuMicros(server), await postgresCpuMicros(postmaster)] as const
  const result = await loader.ask({ ...job, url: server.url })
  const after = [await serverCpuMicros(server), await postgresCpuMicros(postmaster)] as const
  const serverMicros = (after[0] - before[0]) / result.requests
  const postgresMicros = (after[1] - before[1]) / result.requests
  return { ...result, serverMicros, postgresMicros, cpuMicros: serverMicros + postgresMicros }
}
