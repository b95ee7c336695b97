const FIRST_SECONDS = 2
const MAX_SECONDS = 1800

/**
 * Returns how long to wait before attempt number `attempts + 1`. The wait doubles each time, up to half an hour. A random
 * share of it, at least half, spreads the retries of jobs that failed together.
 */
export const backoffSeconds = (attempts: number, random: () => number = Math.random): number =>
  Math.min(MAX_SECONDS, FIRST_SECONDS * 2 ** (attempts - 1)) * (0.5 + random() / 2)
