const FIRST_SECONDS = 2
const MOST_SECONDS = 1800

/**
 * How long to wait before attempt number `attempts + 1`: doubled each time up to half an hour, of which a random part of
 * at least half is taken, so that jobs that failed together do not come back together.
 */
export const backoffSeconds = (attempts: number, random: () => number = Math.random): number =>
  Math.min(MOST_SECONDS, FIRST_SECONDS * 2 ** (attempts - 1)) * (0.5 + random() / 2)
