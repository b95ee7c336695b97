import type { Finding } from './judge.ts'
import { KINDS } from './kinds.ts'
import type { Line } from './ledger.ts'
import { growthOf, type ScenarioSummary, summarize } from './summary.ts'

/** From the return of a part until requests succeed again. */
const RECOVERY_SECONDS = 5
/** What the least memory may grow from the first to the last third of a run. */
const GROWTH = 1.25
const MEBIBYTE = 2 ** 20
const SHOWN = 40

const COLUMNS = ['requests', 'acknowledged', 'refused', 'unanswered', 'lost', 'doubled', 'foreign', 'other'] as const

/** Prints the summary of a run. Returns whether every promise was kept, except a late recovery that `mayBeLate`. */
export function report(lines: readonly Line[], findings: readonly Finding[], mayBeLate: boolean): boolean {
  const summaries = summarize(lines, findings)
  const width = Math.max(...summaries.map(({ scenario }) => scenario.length))
  const row = (name: string, cells: readonly string[]) =>
    console.log(`${name.padEnd(width)}  ${cells.map((cell) => cell.padStart(12)).join('')}`)
  row('scenario', [...COLUMNS, 'recovery s'])
  for (const summary of summaries) row(summary.scenario, cellsOf(summary))
  const total = (column: (typeof COLUMNS)[number]) => summaries.reduce((sum, summary) => sum + summary[column], 0)
  row(
    `${summaries.length} in all`,
    COLUMNS.map((column) => String(total(column))),
  )
  reportKinds(lines)

  const slow = summaries.filter(({ recoverySeconds }) => recoverySeconds === null || recoverySeconds > RECOVERY_SECONDS)
  for (const { scenario, recoverySeconds } of slow)
    console.log(
      `RECOVERY  ${scenario}: ${recoverySeconds ?? 'not before the next scenario'} s, more than ${RECOVERY_SECONDS}`,
    )
  for (const { fault, scenario, id, text } of findings.slice(0, SHOWN))
    console.log(`${fault.toUpperCase()}  ${id} ${text}${scenario === '' ? '' : ` (${scenario})`}`)
  if (findings.length > SHOWN) console.log(`… and ${findings.length - SHOWN} more`)
  const isFlat = reportMemory(lines)
  return findings.length === 0 && (slow.length === 0 || mayBeLate) && isFlat
}

const cellsOf = (summary: ScenarioSummary): string[] => [
  ...COLUMNS.map((column) => String(summary[column])),
  summary.recoverySeconds?.toFixed(1) ?? 'none',
]

/** Prints how many requests of each kind were sent, so that a kind that was never sent is noticed. */
function reportKinds(lines: readonly Line[]): void {
  const counts = Map.groupBy(lines, (line) => (line.what === 'sent' ? line.kind : null))
  console.log(
    Object.keys(KINDS)
      .map((kind) => `${kind} ${counts.get(kind as keyof typeof KINDS)?.length ?? 0}`)
      .join(', '),
  )
}

function reportMemory(lines: readonly Line[]): boolean {
  const growth = growthOf(lines)
  if (growth === null) return true
  const mebibytes = (bytes: number) => `${(bytes / MEBIBYTE).toFixed(1)} MiB`
  const [first, last] = growth.heap
  const stack = growth.stack.map(({ rssBytes, instances }) => `${mebibytes(rssBytes)} with ${instances} instances`)
  console.log(`heap of an instance ${mebibytes(first)} → ${mebibytes(last)}`)
  console.log(`resident memory of the stack ${stack.join(' → ')}`)
  return last <= GROWTH * first
}
