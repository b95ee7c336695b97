import { errorCode, FOREIGN_KEY_VIOLATION } from '#shared/db/failure.ts'
import { KeyServiceUnavailable } from '#shared/vault/kms.ts'

const ATTEMPTS = 3
const LIVING_KEY = 'vendor_accounts_key_is_usable'

/** A row that was to hold what was sealed, but under a data key that was destroyed meanwhile, by a rotation. */
const keyWasDestroyed = (error: unknown): boolean =>
  error instanceof Error &&
  errorCode(error) === FOREIGN_KEY_VIOLATION &&
  Reflect.get(error, 'constraint_name') === LIVING_KEY

/**
 * Seals and stores, in `attempt`: again, with what is there by then, when the data key was destroyed between the two or
 * `attempt` gives null, because what it would replace has changed. Throws KeyServiceUnavailable when that goes on.
 */
export async function storeWithRetry<T>(attempt: () => Promise<T | null>): Promise<T> {
  for (let tried = 0; tried < ATTEMPTS; tried += 1) {
    try {
      const stored = await attempt()
      if (stored !== null) return stored
    } catch (error) {
      if (!keyWasDestroyed(error)) throw error
    }
  }
  throw new KeyServiceUnavailable(new Error('what was sealed could not be stored, since its place kept changing'))
}
