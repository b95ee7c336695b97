import { saveMeasurements } from './kept.ts'
import type { LoginTimes } from './login.ts'
import type { BenchOptions } from './options.ts'
import type { Throughput } from './throughput.ts'
import type { WireCost } from './wire.ts'

export interface Measurements {
  readonly throughput: readonly Throughput[]
  readonly login: readonly LoginTimes[]
  readonly wire: readonly WireCost[]
}

/** A promise of the service, and whether the measurement meets it. */
export interface Target {
  readonly target: string
  readonly measured: string
  readonly met: boolean
}

const LEAST_SESSION_RATIO = 0.5
const MOST_LOGIN_RATIO = 1.25

/** Compares the measurements with the targets. Only ratios within one run are compared, since the rest depends on the machine. */
export function judge({ throughput, login, wire }: Measurements): Target[] {
  const session = throughput.find(({ server, connections }) => server === 'service' && connections === 32)
  const check = wire.find(({ route }) => route === 'GET /v1/auth/session')
  const signIn = login.find(({ kind }) => kind === 'right password')
  const failures = throughput.reduce((sum, row) => sum + row.failures, 0)
  return [
    {
      target: `session check: at least ${LEAST_SESSION_RATIO} of the floor at 32 connections`,
      measured: fixed(session?.ratio, 3),
      met: (session?.ratio ?? 0) >= LEAST_SESSION_RATIO,
    },
    {
      target: 'session check: one statement in one round trip',
      measured: `${check?.statements} in ${check?.roundTrips}`,
      met: check?.statements === 1 && check.roundTrips === 1,
    },
    {
      target: `sign-in: at most ${MOST_LOGIN_RATIO} of a bare verify`,
      measured: fixed(signIn?.ratio, 3),
      met: (signIn?.ratio ?? Number.POSITIVE_INFINITY) <= MOST_LOGIN_RATIO,
    },
    { target: 'no failed request under load', measured: String(failures), met: failures === 0 },
  ]
}

/** Returns the tables to print. */
export function render({ throughput, login, wire }: Measurements, targets: readonly Target[]): string {
  return [
    'Session check (GET /v1/auth/session); ratio to the floor in the same round, median [middle half]',
    table(
      ['server', 'connections', 'req/s', 'p50 ms', 'p99 ms', 'CPU µs/req', 'failures', 'ratio'],
      throughput.map((row) => [
        row.server,
        String(row.connections),
        fixed(row.perSecond, 0),
        fixed(row.p50, 2),
        fixed(row.p99, 2),
        fixed(row.cpuMicrosPerRequest, 0),
        String(row.failures),
        `${fixed(row.ratio, 3)} [${row.ratioRange.map((ratio) => fixed(ratio, 3)).join(', ')}]`,
      ]),
    ),
    'Sign-in (POST /v1/auth/login), one at a time; median ratio to the paired Argon2id verify; undisturbed: ratio of the 10th percentiles',
    table(
      ['kind', 'pairs', 'verify ms', 'sign-in ms', 'p99 ms', 'ratio', 'undisturbed'],
      login.map((row) => [
        row.kind,
        String(row.pairs),
        fixed(row.verifyMs, 1),
        fixed(row.loginMs, 1),
        fixed(row.loginP99, 1),
        fixed(row.ratio, 3),
        fixed(row.undisturbedRatio, 3),
      ]),
    ),
    'Statements and round trips to Postgres for one request on a warm connection',
    table(
      ['route', 'statements', 'round trips', 'waited for'],
      wire.map(({ route, statements, roundTrips, waits }) => [route, ...[statements, roundTrips, waits].map(String)]),
    ),
    'Targets',
    table(
      ['target', 'measured', ''],
      targets.map(({ target, measured, met }) => [target, measured, met ? 'met' : 'MISSED']),
    ),
  ].join('\n\n')
}

/** Writes all measurements to .local/bench.json. Returns the path. */
export const save = (options: BenchOptions, measurements: Measurements, targets: readonly Target[]): Promise<string> =>
  saveMeasurements('bench', { options, ...measurements, targets })

const fixed = (value: number | undefined, digits: number): string => value?.toFixed(digits) ?? '-'

/** Formats a table, the first column aligned left, the others right. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  ')
  return [line(head), ...rows.map(line)].map((text) => `  ${text.trimEnd()}`).join('\n')
}
