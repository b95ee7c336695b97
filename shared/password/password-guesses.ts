import { once } from '#shared/once.ts'

/** What attackers try first. */
export interface PasswordGuesses {
  /** Returns whether a password, in lower case, is in a list of 49,000 common ones. */
  readonly isCommon: (lowerCase: string) => boolean
  /** Estimates how many guesses an attacker needs who tries common words, repeats, sequences, dates and keyboard walks first. */
  readonly count: (password: string) => number
}

// Substitutions such as `@` for `a` take most of the time of an estimate, and so does each keyboard. With these options no
// password of 128 characters takes longer than a password hash.
const KEYBOARDS = ['qwerty', 'qwertz', 'azerty', 'keypad'] as const
const MAX_SUBSTITUTIONS = 10

/** Loads the word lists on first use: few requests set a password. */
export const passwordGuesses = once(async (): Promise<PasswordGuesses> => {
  const [{ ZxcvbnFactory }, { adjacencyGraphs, dictionary }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ])
  const common = new Set(dictionary['passwords-common'])
  const estimator = new ZxcvbnFactory({
    dictionary,
    graphs: Object.fromEntries(KEYBOARDS.map((name) => [name, adjacencyGraphs[name]])),
    l33tMaxSubstitutions: MAX_SUBSTITUTIONS,
  })
  return {
    isCommon: (lowerCase) => common.has(lowerCase),
    count: (password) => estimator.check(password).guesses,
  }
})
