/** The value below which a share `at` of the values lies; NaN of no values. */
export function quantile(values: Iterable<number>, at: number): number {
  const sorted = [...values].toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? Number.NaN
}

/** The middle value, or the mean of the middle two; NaN of no values. */
export function median(values: Iterable<number>): number {
  const sorted = [...values].toSorted((a, b) => a - b)
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]]
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2
}

/** The values beginning at `by`, the first ones at the end. */
export const rotated = <T>(values: readonly T[], by: number): T[] => {
  const at = by % values.length
  return [...values.slice(at), ...values.slice(0, at)]
}
