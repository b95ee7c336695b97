import { digestPassword } from '#shared/password/argon2.ts'
import type { Cost } from '#shared/password/cost.ts'
import { answerQuestions, givenOptions } from './processes.ts'

/** The password and hash of the bare verify. */
export interface VerifyOptions {
  readonly password: string
  readonly hash: string
  readonly cost: Cost
}

/** The time of one verify, and its processor time in all threads. */
export interface Verified {
  readonly ms: number
  readonly cpuMs: number
}

const { password, hash, cost } = givenOptions() as VerifyOptions
const [salt = '', digest = ''] = hash.split(/\$(?=[^$]*$)/)

answerQuestions({}, async (): Promise<Verified> => {
  const before = process.cpuUsage()
  const started = performance.now()
  // By the code of the service, so that the difference is the rest of a sign-in.
  const computed = await digestPassword(password, salt, [cost])
  const ms = performance.now() - started
  if (!computed.equals(Buffer.from(digest, 'base64'))) throw new Error('the hash does not verify')
  const { user, system } = process.cpuUsage(before)
  return { ms, cpuMs: (user + system) / 1000 }
})
