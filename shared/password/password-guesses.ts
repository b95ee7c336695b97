import { once } from '#shared/base/once.ts'

/** What attackers try first. */
export interface PasswordGuesses {
  /** Returns whether a password, in lower case, is in a list of 49,000 common ones. */
  readonly isCommon: (lowerCase: string) => boolean
  /**
   * Estimates how many guesses an attacker needs who tries common words, repeats, sequences, dates and keyboard walks first. A
   * password of more than 64 characters is estimated in parts, without most of its repeats. The result is that of the part that is hardest
   * to guess.
   */
  readonly count: (password: string) => number
}

// Substitutions such as `@` for `a` take most of the time of an estimate, and so does each keyboard. The time of some
// passwords grows with the square of their length. With these bounds no password takes longer than a password hash.
const KEYBOARDS = ['qwerty', 'qwertz', 'azerty', 'keypad'] as const
const MAX_SUBSTITUTIONS = 10
const PART_LENGTH = 64
// The end of a part may cut a word, and what remains of it is hard to guess. So of what is repeated, two copies are estimated, or one.
const REPEATED = /(.{4,}?)\1+/gs

function withoutRepeats(password: string): string {
  if (password.length <= PART_LENGTH) return password
  const twice = password.replace(REPEATED, '$1$1')
  return twice.length <= PART_LENGTH ? twice : password.replace(REPEATED, '$1')
}

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
    count: (password) => {
      const text = withoutRepeats(password)
      let most = 0
      for (let at = 0; at < text.length; at += PART_LENGTH) {
        most = Math.max(most, estimator.check(text.slice(at, at + PART_LENGTH)).guesses)
      }
      return most
    },
  }
})
