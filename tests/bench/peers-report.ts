import { readFile } from 'node:fs/promises'
import { figure, markdownTable, provenance } from './kept.ts'
import { CASES, type ContenderName, OWN, type PeerTarget, TARGETS } from './peers-cases.ts'
import { median } from './statistics.ts'
import type { Turn } from './turn.ts'
import { type Judged, verdictOf } from './verdict.ts'

/** One server under one load, for one turn. */
export interface PeerSample extends Turn {
  readonly run: number
  readonly round: number
  readonly connections: number
  readonly name: string
  readonly contender: ContenderName
}

interface Spread {
  readonly median: number
  readonly least: number
  readonly most: number
}

type Of = readonly [name: string, contender: ContenderName]

/** Returns the ratio or the difference of two servers: of each run the median of its rounds, then their median, the least and the most. */
function compare(
  samples: readonly PeerSample[],
  {
    of,
    by,
    value,
    connections,
    difference = false,
  }: Pick<PeerTarget, 'of' | 'by' | 'connections' | 'difference'> & { value: keyof Turn },
): Spread {
  const find = ([name, contender]: Of) =>
    samples.filter((each) => each.name === name && each.contender === contender && each.connections === connections)
  const others = find(by)
  const compared = find(of).flatMap((own) => {
    const other = others.find(({ run, round }) => run === own.run && round === own.round)
    if (other === undefined) return []
    return [{ run: own.run, result: difference ? own[value] - other[value] : own[value] / other[value] }]
  })
  const ofRuns = [...Map.groupBy(compared, ({ run }) => run).values()].map((run) =>
    median(run.map(({ result }) => result)),
  )
  return { median: median(ofRuns), least: Math.min(...ofRuns), most: Math.max(...ofRuns) }
}

const spread = ({ median, least, most }: Spread): string =>
  Number.isNaN(median) ? '–' : `${figure(median)} [${figure(least)}–${figure(most)}]`

/** Compares the measurements with the targets. */
export function judgePeers(samples: readonly PeerSample[]): Judged[] {
  const failures = samples.reduce((sum, each) => sum + each.failures, 0)
  return [
    ...TARGETS.map((target) => {
      const measured = compare(samples, target)
      return { target: target.text, measured: spread(measured), verdict: verdictOf(measured.median, target) }
    }),
    { target: 'no failed request', measured: String(failures), verdict: failures === 0 ? 'met' : 'MISSED' },
  ]
}

/** Returns the table of all cases, and the targets. */
export async function renderPeers(
  options: object,
  samples: readonly PeerSample[],
  targets: readonly Judged[],
): Promise<string> {
  const { dependencies } = JSON.parse(await readFile(new URL('peers/package.json', import.meta.url), 'utf8'))
  const rows = [0, 1].flatMap((kind) =>
    CASES.map(({ name, ask, connections: both }) => {
      const connections = both[kind] ?? 1
      const contender = OWN.find((each) => each in ask)
      // The response to a session check has all that the full answer of better-auth has.
      const own: Of = contender === undefined ? ['session', 'tenantry'] : [name, contender]
      const middle = (value: 'perSecond' | 'p50' | 'serverMicros' | 'postgresMicros', [name, contender]: Of = own) =>
        figure(
          median(
            samples
              .filter((each) => each.name === name && each.contender === contender && each.connections === connections)
              .map((each) => each[value]),
          ),
        )
      const times = (by: ContenderName, other = name) =>
        spread(compare(samples, { of: own, by: [other, by], value: 'perSecond', connections }))
      return [
        name,
        String(connections),
        middle('perSecond'),
        middle('p50'),
        middle('serverMicros'),
        middle('postgresMicros'),
        middle('perSecond', [name, 'better-auth']),
        times('better-auth'),
        spread(compare(samples, { of: [name, 'better-auth'], by: own, value: 'cpuMicros', connections })),
        times('cookie-cache'),
        times('select'),
        times('function'),
        spread(compare(samples, { of: [name, 'select'], by: [name, 'better-auth'], value: 'perSecond', connections })),
      ]
    }),
  )
  const head = ['', 'connections', 'req/s', 'p50 ms', 'server CPU µs', 'Postgres CPU µs', 'better-auth req/s']
  return [
    markdownTable(
      [
        ...head,
        '× better-auth',
        'processor time, better-auth / ours',
        '× with cookie cache',
        'of one SELECT',
        'of one function',
        'one SELECT × better-auth',
      ],
      rows,
    ),
    provenance(`better-auth ${dependencies['better-auth']}`, options),
    markdownTable(
      ['target', 'measured', ''],
      targets.map(({ target, measured, verdict }) => [target, measured, verdict]),
    ),
  ].join('\n\n')
}
