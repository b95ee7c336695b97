import type { LoadJob, LoadResult } from './load-process.ts'
import type { BenchProcess, ServerProcess } from './processes.ts'
import { median, quantile, rotated } from './statistics.ts'

/** A measured server. */
export interface Contender {
  readonly name: string
  readonly server: ServerProcess
}

/** One server with one number of connections: medians over its turns. */
export interface Throughput {
  readonly server: string
  readonly connections: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly cpuMicrosPerRequest: number
  readonly failures: number
  /** The ratio to the reference in the same round: the median, and the quartiles. */
  readonly ratio: number
  readonly ratioRange: readonly [number, number]
}

const CONNECTIONS = [1, 32] as const
const TOKENS_PER_CONNECTION = 150
// Short, so that other load on the machine affects all servers alike.
const TURN_SECONDS = 1
const WARM_UP_SECONDS = 2

interface Sample extends LoadResult {
  readonly server: string
  readonly connections: number
  readonly round: number
  readonly cpuMicros: number
}

/** Loads the servers in turns with the session check. The first one is the reference. */
export async function measureThroughput(
  contenders: readonly Contender[],
  loader: BenchProcess<object, LoadJob, LoadResult>,
  tokens: readonly string[],
  { reps, seconds }: { reps: number; seconds: number },
): Promise<Throughput[]> {
  const load = async ({ server }: Contender, connections: number, round: number, seconds: number) => {
    const count = Math.min(tokens.length, connections * TOKENS_PER_CONNECTION)
    const own = rotated(tokens, round * count).slice(0, count)
    const requests = Array.from({ length: connections }, (_, at) =>
      own
        .filter((_token, index) => index % connections === at)
        .map((token) => ({ method: 'GET', path: '/v1/auth/session', headers: { authorization: `Bearer ${token}` } })),
    )
    const { url } = server.greeting
    // Sessions move their expiry now, and not in the turn, which is shorter than the minute between two moves.
    await loader.ask({ url, until: { requests: count }, requests })
    const before = await server.ask({})
    const result = await loader.ask({ url, until: { seconds }, requests })
    const after = await server.ask({})
    return { ...result, cpuMicros: after.cpuMicros - before.cpuMicros }
  }

  for (const contender of contenders) await load(contender, Math.max(...CONNECTIONS), 0, WARM_UP_SECONDS)
  const samples: Sample[] = []
  for (let rep = 0; rep < reps; rep += 1) {
    for (const connections of CONNECTIONS) {
      for (let turn = 0; turn < seconds; turn += TURN_SECONDS) {
        const round = rep * seconds + turn
        for (const contender of rotated(contenders, round)) {
          const result = await load(contender, connections, round, TURN_SECONDS)
          samples.push({ ...result, server: contender.name, connections, round })
        }
      }
    }
  }
  const reference = contenders[0]?.name ?? ''
  return CONNECTIONS.flatMap((connections) =>
    contenders.map(({ name }) => summarise(samples, { server: name, connections, reference })),
  )
}

function summarise(
  samples: readonly Sample[],
  { server, connections, reference }: { server: string; connections: number; reference: string },
): Throughput {
  const of = (name: string) => samples.filter((sample) => sample.server === name && sample.connections === connections)
  const own = of(server)
  const ratios = own.map(({ round, perSecond }) => {
    const other = of(reference).find((sample) => sample.round === round)
    return perSecond / (other?.perSecond ?? Number.NaN)
  })
  return {
    server,
    connections,
    perSecond: median(own.map(({ perSecond }) => perSecond)),
    p50: median(own.map(({ p50 }) => p50)),
    p99: median(own.map(({ p99 }) => p99)),
    cpuMicrosPerRequest: median(own.map(({ cpuMicros, requests }) => cpuMicros / requests)),
    failures: own.reduce((sum, { failures }) => sum + failures, 0),
    ratio: median(ratios),
    ratioRange: [quantile(ratios, 0.25), quantile(ratios, 0.75)],
  }
}
