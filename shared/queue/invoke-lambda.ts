import { describeError, log } from '#shared/log.ts'
import type { InvokedJob } from '#shared/needs.ts'

const INVOKE_TIMEOUT_MS = 500

/**
 * Invokes a job asynchronously: Lambda replies once it has queued the event. For a rehearsal Lambda only checks the request, and
 * queues nothing. Never rejects: the schedule finds the work.
 */
export async function invokeLambda(job: InvokedJob, mode?: 'rehearsal'): Promise<void> {
  try {
    const { invokeFunction } = await import('#shared/invoke-function.ts')
    const type = mode === 'rehearsal' ? 'DryRun' : 'Event'
    await invokeFunction(job, { type }, AbortSignal.timeout(INVOKE_TIMEOUT_MS))
  } catch (error) {
    log.warn('could not invoke a job; its schedule will find the work', { job, error: describeError(error) })
  }
}
