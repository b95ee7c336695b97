import { inject } from 'vitest'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Whether the run is `npm run test:slow`, which repeats each race often and tries every variant of a fault. */
    thorough: boolean
  }
}

/**
 * Counts the rounds of a race: `many` in `npm run test:slow`, a fifth of them in `npm test`. Goes on until `enough`
 * returns true, up to `most` rounds.
 */
export function* rounds(many: number, enough = () => true, most = many): Generator<number> {
  const least = inject('thorough') ? many : Math.ceil(many / 5)
  for (let round = 0; round < least || (round < most && !enough()); round += 1) yield round
}

/** Returns all variants in `npm run test:slow`, and the first in `npm test`. */
export const variants = <T>(all: readonly T[]): readonly T[] => (inject('thorough') ? all : all.slice(0, 1))

/** Returns all cases in `npm run test:slow`, and one of each `size` in `npm test`. */
export const oneOf = <T>(size: number, all: readonly T[]): readonly T[] =>
  inject('thorough') ? all : all.filter((_, at) => at % size === 0)
