import { saveMeasurements } from './kept.ts'
import type { LoginTimes } from './login.ts'
import type { BenchOptions } from './options.ts'
import type { Throughput } from './throughput.ts'
import { type Judged, verdictOf } from './verdict.ts'
import type { WireCost } from './wire.ts'

export interface Measurements {
  readonly throughput: readonly Throughput[]
  readonly login: readonly LoginTimes[]
  readonly wire: readonly WireCost[]
}

const SESSION = { ratio: { least: 0.75 }, p50: { most: 1.4 } }
const SIGN_IN = { besideMs: { most: 8 }, cpu: { most: 1.25 } }

/** Compares the measurements with the targets. Only ratios within one run are compared, since the rest depends on the machine. */
export function judge({ throughput, login, wire }: Measurements): Judged[] {
  const of = (name: string, connections: number) =>
    throughput.find((row) => row.server === name && row.connections === connections)
  const loaded = of('service', 32)?.ratio ?? Number.NaN
  const p50 = (of('service', 1)?.p50 ?? Number.NaN) / (of('floor', 1)?.p50 ?? Number.NaN)
  const check = wire.find(({ route }) => route === 'GET /v1/auth/session')
  const signIn = login.find(({ kind }) => kind === 'right password')
  const cpuRatio = signIn?.cpuRatio ?? Number.NaN
  const besideMs = signIn?.undisturbedBesideMs ?? Number.NaN
  const failures = throughput.reduce((sum, row) => sum + row.failures, 0)
  return [
    {
      target: `session check: at least ${SESSION.ratio.least} of the floor at 32 connections`,
      measured: fixed(loaded, 3),
      verdict: verdictOf(loaded, SESSION.ratio),
    },
    {
      target: `session check: p50 at most ${SESSION.p50.most} of the floor's at one connection`,
      measured: fixed(p50, 3),
      verdict: verdictOf(p50, SESSION.p50),
    },
    {
      target: 'session check: one statement in one round trip',
      measured: `${check?.statements} in ${check?.roundTrips}`,
      verdict: check?.statements === 1 && check.roundTrips === 1 ? 'met' : 'MISSED',
    },
    {
      target: `sign-in: processor time at most ${SIGN_IN.cpu.most} of the bare hash`,
      measured: fixed(cpuRatio, 3),
      verdict: verdictOf(cpuRatio, SIGN_IN.cpu),
    },
    {
      target: `sign-in: at most ${SIGN_IN.besideMs.most} ms beside the hash (10th percentiles)`,
      measured: fixed(besideMs, 1),
      verdict: verdictOf(besideMs, SIGN_IN.besideMs),
    },
    { target: 'no failed request under load', measured: String(failures), verdict: failures === 0 ? 'met' : 'MISSED' },
  ]
}

/** Returns the tables to print. */
export function render({ throughput, login, wire }: Measurements, targets: readonly Judged[]): string {
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
    'Sign-in (POST /v1/auth/login), one at a time; median ratio to the paired hash; beside: difference of the medians [of the 10th percentiles]',
    table(
      ['kind', 'pairs', 'verify ms', 'sign-in ms', 'p99 ms', 'ratio', 'beside ms', 'CPU ratio'],
      login.map((row) => [
        row.kind,
        String(row.pairs),
        fixed(row.verifyMs, 1),
        fixed(row.loginMs, 1),
        fixed(row.loginP99, 1),
        fixed(row.ratio, 3),
        `${fixed(row.besideMs, 1)} [${fixed(row.undisturbedBesideMs, 1)}]`,
        fixed(row.cpuRatio, 3),
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
      targets.map(({ target, measured, verdict }) => [target, measured, verdict]),
    ),
  ].join('\n\n')
}

/** Writes all measurements to .local/bench.json. Returns the path. */
export const save = (options: BenchOptions, measurements: Measurements, targets: readonly Judged[]): Promise<string> =>
  saveMeasurements('bench', { options, ...measurements, targets })

const fixed = (value: number | undefined, digits: number): string => value?.toFixed(digits) ?? '-'

/** Formats a table, the first column aligned left, the others right. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  ')
  return [line(head), ...rows.map(line)].map((text) => `  ${text.trimEnd()}`).join('\n')
}
