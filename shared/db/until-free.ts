import { setTimeout as delay } from 'node:timers/promises'
import { errorCode } from '#shared/db/failure.ts'

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK_DETECTED = '40P01'

/** Returns whether another transaction had a lock that this one needed. */
export const isBusy = (error: unknown): boolean => [LOCK_NOT_AVAILABLE, DEADLOCK_DETECTED].includes(errorCode(error))

/**
 * Runs `work`, and again after a pause while another transaction has a lock that it needs, up to `tries` times and until the
 * deadline in milliseconds since the epoch. Rejects with the last error.
 */
export async function untilFree<T>(
  { tries, pauseMs, deadline = Infinity }: { tries: number; pauseMs: number; deadline?: number },
  work: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isBusy(error) || attempt === tries || Date.now() > deadline) throw error
      await delay(pauseMs)
    }
  }
}
