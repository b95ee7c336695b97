import { parseArgs } from 'node:util'

/** The amount of measurement. */
export interface BenchOptions {
  /** How many times each server is loaded, in turn with the others. */
  readonly reps: number
  /** The length of each load, in turns of one second. */
  readonly seconds: number
  /** How many sign-ins of each kind are timed, each paired with a bare verify. */
  readonly pairs: number
}

export const USAGE = 'node tests/bench/bench.ts [--quick] [--reps N] [--seconds N] [--pairs N]'

/** Parses the command line. Throws a TypeError for an unknown or wrong option. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      reps: { type: 'string' },
      seconds: { type: 'string' },
      pairs: { type: 'string' },
    },
  })
  const usual = values.quick ? { reps: 1, seconds: 2, pairs: 10 } : { reps: 3, seconds: 5, pairs: 40 }
  return {
    reps: count('--reps', values.reps, usual.reps),
    seconds: count('--seconds', values.seconds, usual.seconds),
    pairs: count('--pairs', values.pairs, usual.pairs),
  }
}

/** Parses a number from 1 to 9999999, or returns the usual one if none is given. */
export function count(name: string, given: string | undefined, usual: number): number {
  if (given === undefined) return usual
  if (!/^[1-9]\d{0,6}$/.test(given)) throw new TypeError(`${name} takes a whole number from 1 to 9999999`)
  return Number(given)
}
