import { argon2Verify } from 'hash-wasm'
import { answerQuestions, givenOptions } from './processes.ts'

/** The password and hash of the bare verify. */
export interface VerifyOptions {
  readonly password: string
  readonly hash: string
}

/** The time of one verify. */
export interface Verified {
  readonly ms: number
}

const options = givenOptions() as VerifyOptions

answerQuestions({}, async (): Promise<Verified> => {
  const started = performance.now()
  if (!(await argon2Verify(options))) throw new Error('the hash does not verify')
  return { ms: performance.now() - started }
})
