import { type Entry, entriesOf, type Finding, isAcknowledged } from './judge.ts'
import type { Line, Sample } from './ledger.ts'

/** What became of the requests that were sent in one scenario. */
export interface ScenarioSummary {
  readonly scenario: string
  readonly requests: number
  readonly acknowledged: number
  readonly refused: number
  readonly unanswered: number
  readonly lost: number
  readonly doubled: number
  readonly foreign: number
  /** Every other broken promise. */
  readonly other: number
  /** From the return of the part until the last request failed that was sent after it and over before the next fault. Null while requests still failed at the end. */
  readonly recoverySeconds: number | null
}

/** A service that works again answers for so long without a failure. */
const CALM_MS = 1000

const isFailure = ({ response }: Entry): boolean =>
  response === null || response.status === null || response.status >= 500

/** Returns the summary of each scenario, in the order of the run. */
export function summarize(lines: readonly Line[], findings: readonly Finding[]): ScenarioSummary[] {
  const entries = Map.groupBy(entriesOf(lines), ({ scenario }) => scenario)
  return [...entries].map(([scenario, sent]) => {
    const of = findings.filter((finding) => finding.scenario === scenario)
    const counted = (fault: Finding['fault']) => of.filter((finding) => finding.fault === fault).length
    const [lost, doubled, foreign] = [counted('lost'), counted('doubled'), counted('foreign')]
    const answered = sent.filter(({ response }) => response !== null && response.status !== null)
    const acknowledged = sent.filter(isAcknowledged)
    return {
      scenario,
      requests: sent.length,
      acknowledged: acknowledged.length,
      refused: answered.length - acknowledged.length,
      unanswered: sent.length - answered.length,
      lost,
      doubled,
      foreign,
      other: of.length - lost - doubled - foreign,
      recoverySeconds: recoveryOf(scenario, sent, lines),
    }
  })
}

function recoveryOf(scenario: string, sent: readonly Entry[], lines: readonly Line[]): number | null {
  const returned = lines.find((line) => line.what === 'mark' && line.scenario === scenario && line.phase === 'returned')
  if (returned === undefined) return 0
  const next = lines.find((line) => line.what === 'mark' && line.phase === 'begins' && line.at > returned.at)
  // What is in progress when the next fault begins fails by that one.
  const isOver = ({ response }: Entry) => next === undefined || response === null || response.at < next.at
  const after = sent.filter((entry) => entry.at >= returned.at && isOver(entry))
  const failed = after.filter(isFailure)
  const lastSent = Math.max(...after.map(({ at }) => at))
  if (failed.some(({ at }) => at > lastSent - CALM_MS)) return null
  return Math.max(0, ...failed.map(({ at }) => at - returned.at)) / 1000
}

/** The memory in the first and the last third of a run: the least of each, so that requests in progress do not count. */
export interface Growth {
  /** Bytes, the mean of all instances. */
  readonly heap: readonly [number, number]
  /** The samples with the least resident memory of the stack, which grows with the number of its instances. */
  readonly stack: readonly [Sample, Sample]
}

/** Returns null without a sample for each third. */
export function growthOf(lines: readonly Line[]): Growth | null {
  const samples = lines.filter((line): line is Sample => line.what === 'memory')
  const third = Math.floor(samples.length / 3)
  if (third === 0) return null
  const least = (of: readonly Sample[], value: (sample: Sample) => number) =>
    of.reduce((found, sample) => (value(sample) < value(found) ? sample : found))
  const compare = (value: (sample: Sample) => number) =>
    [least(samples.slice(0, third), value), least(samples.slice(-third), value)] as const
  const [first, last] = compare(({ heapBytes }) => heapBytes)
  return { heap: [first.heapBytes, last.heapBytes], stack: compare(({ rssBytes }) => rssBytes) }
}
