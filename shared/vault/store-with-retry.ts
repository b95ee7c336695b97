import { errorCode, FOREIGN_KEY_VIOLATION } from '#shared/db/failure.ts'
import { KeyServiceUnavailable } from '#shared/vault/key-service.ts'

const MAX_ATTEMPTS = 3
const USABLE_KEY_CONSTRAINT = 'vendor_accounts_key_is_usable'

/** Returns whether Postgres rejected a row because the data key of its secret is destroyed. */
const keyWasDestroyed = (error: unknown): boolean =>
  error instanceof Error &&
  errorCode(error) === FOREIGN_KEY_VIOLATION &&
  Reflect.get(error, 'constraint_name') === USABLE_KEY_CONSTRAINT

/**
 * Runs `attempt`, which encrypts a secret and stores it. Runs it again if the data key was destroyed in between, or if
 * `attempt` resolves to null because the row changed. Throws KeyServiceUnavailable after the third such attempt.
 */
export async function storeWithRetry<T>(attempt: () => Promise<T | null>): Promise<T> {
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts += 1) {
    try {
      const stored = await attempt()
      if (stored !== null) return stored
    } catch (error) {
      if (!keyWasDestroyed(error)) throw error
    }
  }
  throw new KeyServiceUnavailable(new Error('the row or its data key changed during every attempt to store a secret'))
}
