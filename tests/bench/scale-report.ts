import { figure, markdownTable, provenance } from './kept.ts'
import type { Maintained } from './scale-maintain.ts'
import type { SkippedRead } from './scale-routes.ts'
import { median } from './statistics.ts'
import type { Turn } from './turn.ts'
import { type Judged, verdictOf } from './verdict.ts'

/** One read under load in one of the databases, for one turn. */
export interface ReadSample extends Turn {
  readonly name: string
  readonly database: string
  readonly round: number
  readonly plan: 'auto' | 'generic' | 'custom'
  /** Of Postgres, for one request. */
  readonly buffers: number
}

export interface ScaleMeasurements {
  readonly samples: readonly ReadSample[]
  readonly skipped: readonly SkippedRead[]
  readonly slides: { readonly updates: number; readonly hot: number }
  readonly maintained: Maintained
}

const MOST_RATIO = 1.3
const MOST_EMPTY_BUFFERS = 100
const MOST_LOCK_MS = 100
const LEAST_HOT = 0.98
// Making a plan reads the catalogue. So a session check with custom plans reads some more, and it is a part of each request.
const FEW_BUFFERS = 50

interface Read {
  readonly name: string
  readonly small: readonly ReadSample[]
  readonly big: readonly ReadSample[]
  /** The time in the large database, divided by that in the small one: in each round. */
  readonly ratios: readonly number[]
  readonly buffers: Readonly<Record<'small' | 'auto' | 'generic' | 'custom', number>>
}

function readsIn(samples: readonly ReadSample[]): Read[] {
  return [...Map.groupBy(samples, ({ name }) => name)].map(([name, own]) => {
    const of = (database: string, plan = 'auto') =>
      own.filter((sample) => sample.database === database && sample.plan === plan)
    const [small, big] = [of('small'), of('big')]
    const ratios = big.flatMap(({ round, perSecond }) =>
      small.filter((other) => other.round === round).map((other) => other.perSecond / perSecond),
    )
    const read = (samples: readonly ReadSample[]) => median(samples.map(({ buffers }) => buffers))
    const buffers = {
      small: read(small),
      auto: read(big),
      generic: read(of('big', 'generic')),
      custom: read(of('big', 'custom')),
    }
    return { name, small, big, ratios, buffers }
  })
}

/** Compares the measurements with the targets. */
export function judgeScale({ samples, skipped, slides, maintained }: ScaleMeasurements): Judged[] {
  const failures = samples.reduce((sum, each) => sum + each.failures, 0)
  const hot = slides.hot / slides.updates
  const { emptyBuffers, emptyStatements, perSecond, backlogMs, mostMs, longestMs } = maintained
  return [
    ...readsIn(samples).map(({ name, ratios }) => ({
      target: `${name}: at most ${MOST_RATIO} times as long with many tenants`,
      measured: figure(median(ratios)),
      verdict: verdictOf(median(ratios), { most: MOST_RATIO }),
    })),
    ...readsIn(samples).map(({ name, buffers: { auto, generic, custom } }) => ({
      target: `${name}: at most ${MOST_RATIO} times the buffers with generic and custom plans`,
      measured: `${figure(generic / auto)}, ${figure(custom / auto)}`,
      verdict: verdictOf(Math.max(generic, custom), { most: auto * MOST_RATIO + FEW_BUFFERS }),
    })),
    {
      target: `maintain with nothing to delete: fewer than ${MOST_EMPTY_BUFFERS} buffers`,
      measured: `${emptyBuffers}${emptyStatements.length === 0 ? '' : `: ${emptyStatements.map(({ statement, buffers }) => `${buffers} \`${statement}\``).join(', ')}`}`,
      verdict: emptyBuffers < MOST_EMPTY_BUFFERS ? 'met' : 'MISSED',
    },
    {
      target: `maintain: no batch locks rows for more than ${MOST_LOCK_MS} ms`,
      measured: `${figure(longestMs)} ms`,
      verdict: verdictOf(longestMs, { most: MOST_LOCK_MS }),
    },
    {
      target: `maintain: deletes what ${figure(perSecond)} sign-ins a second leave in an hour within ${mostMs / 1000} s`,
      measured: `${figure(backlogMs / 1000)} s`,
      verdict: verdictOf(backlogMs, { most: mostMs }),
    },
    {
      target: `sliding the expiry: at least ${LEAST_HOT} heap-only updates`,
      measured: `${figure(hot)} of ${slides.updates}`,
      verdict: hot >= LEAST_HOT ? 'met' : 'MISSED',
    },
    ...skipped.map(({ name, reason }) => ({ target: name, measured: reason, verdict: 'not measured' as const })),
    { target: 'no failed request', measured: String(failures), verdict: failures === 0 ? 'met' : 'MISSED' },
  ]
}

/** Returns the table of all reads, and the targets that are no row of it, or that are not met. */
export function renderScale(options: object, measurements: ScaleMeasurements, targets: readonly Judged[]): string {
  const reads = readsIn(measurements.samples)
  const middle = (samples: readonly ReadSample[], value: 'perSecond' | 'serverMicros' | 'postgresMicros') =>
    figure(median(samples.map((sample) => sample[value])))
  const rows = reads.map(({ name, small, big, ratios, buffers }) => [
    name,
    middle(small, 'perSecond'),
    middle(big, 'perSecond'),
    `${figure(median(ratios))} [${figure(Math.min(...ratios))}–${figure(Math.max(...ratios))}]`,
    middle(small, 'postgresMicros'),
    middle(big, 'postgresMicros'),
    figure(buffers.small),
    figure(buffers.auto),
    figure(buffers.generic),
    figure(buffers.custom),
  ])
  const ofReads = new Set(reads.map(({ name }) => name))
  const shown = targets.filter(
    ({ target, verdict }) => verdict !== 'met' || !ofReads.has(target.slice(0, target.lastIndexOf(': at most'))),
  )
  return [
    markdownTable(
      [
        '',
        'req/s, few tenants',
        'req/s, many',
        'time, many / few',
        'Postgres CPU µs, few',
        'many',
        'buffers, few',
        'many',
        'generic plans',
        'custom plans',
      ],
      rows,
    ),
    provenance('Postgres 17', options),
    markdownTable(
      ['target', 'measured', ''],
      [...shown.map(({ target, measured, verdict }) => [target, measured, verdict]), ['all other reads', '', 'met']],
    ),
  ].join('\n\n')
}
