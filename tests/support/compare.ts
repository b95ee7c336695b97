import { expect } from 'vitest'
import { median } from '#tests/bench/statistics.ts'

interface Cost {
  /** Processor time of this process, in which the service runs. */
  readonly work: number
  readonly time: number
}

const MEASURES = ['work', 'time'] as const
const TOLERANCE = 0.1
const LEAST_ROUNDS = 25
const MOST_ROUNDS = 200

async function costOf(act: () => Promise<unknown>): Promise<Cost> {
  const started = performance.now()
  const usage = process.cpuUsage()
  await act()
  const { user, system } = process.cpuUsage(usage)
  return { work: user + system, time: performance.now() - started }
}

/**
 * Expects several acts to take the same processor time and time as the first of them, within a tenth. Compares the median of
 * the ratios within a round, because a machine is faster in some minutes than in others. Runs more rounds while the medians
 * differ. Each act takes every place of the order, so that the garbage of one is not always collected during the same
 * other one.
 */
export async function expectSameCost(acts: Readonly<Record<string, () => Promise<unknown>>>): Promise<void> {
  const entries = Object.entries(acts).map(([name, act]) => ({ name, act, costs: new Array<Cost>() }))
  const [first] = entries
  if (first === undefined) throw new Error('nothing to compare')
  const differences = (): string[] =>
    entries.flatMap(({ name, costs }) =>
      MEASURES.flatMap((measure) => {
        const ratio = median(costs.map((cost, round) => cost[measure] / (first.costs[round]?.[measure] ?? Number.NaN)))
        return Math.abs(ratio - 1) < TOLERANCE
          ? []
          : [`${name}: ${ratio.toFixed(3)} of the ${measure} of ${first.name}`]
      }),
    )
  let round = 0
  while (round < LEAST_ROUNDS || (round < MOST_ROUNDS && differences().length > 0)) {
    const begin = round % entries.length
    const turned = [...entries.slice(begin), ...entries.slice(0, begin)]
    for (const { act, costs } of Math.floor(round / entries.length) % 2 === 0 ? turned : turned.toReversed())
      costs.push(await costOf(act))
    round += 1
  }
  expect(differences(), `after ${round} rounds`).toEqual([])
}
