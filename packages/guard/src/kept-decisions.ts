import { createHash } from 'node:crypto'
import type { AnyPrincipal } from './principal.ts'
import type { Question } from './door.ts'

const MOST = 1000

/** Keeps positive decisions for some seconds, under a hash of the token: no token is kept. */
export class KeptDecisions {
  readonly #kept = new Map<string, { readonly principal: AnyPrincipal; readonly until: number }>()
  readonly #keepMs: number

  constructor(keepMs: number) {
    this.#keepMs = keepMs
  }

  find(question: Question): AnyPrincipal | null {
    const found = this.#kept.get(keyOf(question))
    return found !== undefined && performance.now() < found.until ? found.principal : null
  }

  /** `askedAt` is the time before the question was asked, so that the age counts from the check. */
  keep(question: Question, principal: AnyPrincipal, askedAt: number): void {
    const key = keyOf(question)
    this.#kept.delete(key)
    this.#kept.set(key, { principal, until: askedAt + this.#keepMs })
    // The first is the oldest.
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST) break
      this.#kept.delete(oldest)
    }
  }
}

const keyOf = ({ authorization, permission, principals }: Question): string =>
  createHash('sha256')
    .update(JSON.stringify([authorization, permission, principals]))
    .digest('base64')
