import { argon2Verify } from 'hash-wasm'
import { answerQuestions, givenOptions } from './processes.ts'

/** What the bare verify is of. */
export interface VerifyOptions {
  readonly password: string
  readonly hash: string
}

/** How long one verify took. */
export interface Verified {
  readonly ms: number
}

const options = givenOptions() as VerifyOptions

answerQuestions({}, async (): Promise<Verified> => {
  const started = performance.now()
  if (!(await argon2Verify(options))) throw new Error('the hash does not verify')
  return { ms: performance.now() - started }
})
