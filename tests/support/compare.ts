import { expect } from 'vitest'

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
 * Expects several acts to take the same processor time and time as the first of them, within a tenth. Compares the
 * minimum of each, because other work on the machine only adds. Runs more rounds while the minima differ. The order
 * rotates, so that the garbage of one act is not always collected during the same other one.
 */
export async function expectSameCost(acts: Readonly<Record<string, () => Promise<unknown>>>): Promise<void> {
  const entries = Object.entries(acts).map(([name, act]) => ({
    name,
    act,
    least: { work: Number.POSITIVE_INFINITY, time: Number.POSITIVE_INFINITY },
  }))
  const [first] = entries
  if (first === undefined) throw new Error('nothing to compare')
  const differences = (): string[] =>
    entries.flatMap(({ name, least }) =>
      MEASURES.flatMap((measure) => {
        const ratio = least[measure] / first.least[measure]
        return Math.abs(ratio - 1) < TOLERANCE
          ? []
          : [`${name}: ${ratio.toFixed(3)} of the ${measure} of ${first.name}`]
      }),
    )
  let round = 0
  while (round < LEAST_ROUNDS || (round < MOST_ROUNDS && differences().length > 0)) {
    const begin = round % entries.length
    const turned = [...entries.slice(begin), ...entries.slice(0, begin)]
    for (const { act, least } of round % 2 === 0 ? turned : turned.toReversed()) {
      const cost = await costOf(act)
      for (const measure of MEASURES) least[measure] = Math.min(least[measure], cost[measure])
    }
    round += 1
  }
  expect(differences(), `after ${round} rounds`).toEqual([])
}
