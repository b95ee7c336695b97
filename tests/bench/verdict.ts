// Another run on the same quiet machine differs by this much.
const NOISE = 0.1

/** `in the noise`: the measure misses the target by less than two runs differ. */
export type Verdict = 'met' | 'in the noise' | 'not measured' | 'MISSED'

export interface Judged {
  readonly target: string
  readonly measured: string
  readonly verdict: Verdict
}

/** Compares a measure with the least or the most that it may be. */
export function verdictOf(value: number, { least, most }: { least?: number; most?: number }): Verdict {
  const short = Math.max(least === undefined ? 0 : 1 - value / least, most === undefined ? 0 : value / most - 1)
  if (short <= 0) return 'met'
  return short <= NOISE ? 'in the noise' : 'MISSED'
}
