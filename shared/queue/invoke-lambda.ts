import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { LIVE_ALIAS } from '#shared/live-alias.ts'
import { describeError, log } from '#shared/log.ts'
import type { InvokedJob } from '#shared/needs.ts'

const INVOKE_TIMEOUT_MS = 500
let lambda: LambdaClient | null = null

/**
 * Invokes a job asynchronously: Lambda replies once it has queued the event. For a rehearsal Lambda only checks the request, and
 * queues nothing. Never rejects: the schedule finds the work.
 */
export async function invokeLambda(job: InvokedJob, mode?: 'rehearsal'): Promise<void> {
  lambda ??= new LambdaClient({ maxAttempts: 1 })
  try {
    const FunctionName = `${process.env['FUNCTION_PREFIX'] ?? ''}${job}`
    const command = new InvokeCommand({
      FunctionName,
      Qualifier: LIVE_ALIAS,
      InvocationType: mode === 'rehearsal' ? 'DryRun' : 'Event',
    })
    await lambda.send(command, { abortSignal: AbortSignal.timeout(INVOKE_TIMEOUT_MS) })
  } catch (error) {
    log.warn('could not invoke a job; its schedule will find the work', { job, error: describeError(error) })
  }
}
