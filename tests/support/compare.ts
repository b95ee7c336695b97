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
 * Holds several acts to the work and the time that the first of them takes, within a tenth. Each is judged by the round
 * in which it was least disturbed, since other work on the machine only adds; so more rounds are run while that does not
 * agree, which brings together what is the same and never what is not. They change places from round to round, so that
 * what ran before, whose memory is collected, does not always fall on one of them.
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
