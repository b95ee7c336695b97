import { describeError, log } from '#shared/base/log.ts'
import type { InvokedJob } from '#shared/base/needs.ts'
import { once } from '#shared/base/once.ts'

const INVOKE_TIMEOUT_MS = 500

const importInvoke = once(() => import('#shared/lambda/invoke-function.ts'))

/**
 * Invokes a job asynchronously: Lambda replies once it has queued the event. For a rehearsal Lambda only checks the request, and
 * queues nothing. Never rejects: the schedule finds the work.
 */
export async function invokeLambda(job: InvokedJob, mode?: 'rehearsal'): Promise<void> {
  const timeout = new AbortController()
  let timer: NodeJS.Timeout | undefined
  try {
    const { invokeFunction } = await importInvoke()
    // After the import, which may take long in a new instance. AbortSignal.timeout would create an error for each invocation, also after the response.
    timer = setTimeout(() => timeout.abort(), INVOKE_TIMEOUT_MS)
    const type = mode === 'rehearsal' ? 'DryRun' : 'Event'
    await invokeFunction(job, { type }, timeout.signal)
  } catch (error) {
    log.warn('could not invoke a job; its schedule will find the work', { job, error: describeError(error) })
  } finally {
    clearTimeout(timer)
  }
}
