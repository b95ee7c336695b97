/** Returns the value below which the fraction `at` of the values lies, or NaN for no values. */
export function quantile(values: Iterable<number>, at: number): number {
  const sorted = [...values].toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? Number.NaN
}

/** Returns the middle value, the mean of the middle two, or NaN for no values. */
export function median(values: Iterable<number>): number {
  const sorted = [...values].toSorted((a, b) => a - b)
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]]
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2
}

/** Returns the values rotated left by `by`. */
export const rotated = <T>(values: readonly T[], by: number): T[] => {
  const at = by % values.length
  return [...values.slice(at), ...values.slice(0, at)]
}
