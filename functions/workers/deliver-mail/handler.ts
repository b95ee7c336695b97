import type { Context } from 'aws-lambda'
import { metered } from '#shared/base/metrics.ts'
import { openRuntime } from '#shared/lambda/runtime.ts'
import { worker } from './worker.ts'

const RESERVE_MS = 10_000

const runtime = openRuntime(worker)

/** Invoked after each commit that enqueues mail, and by its schedule, which finds what a lost invocation leaves. */
export const handler = metered(async (_event: unknown, context: Context): Promise<{ sent: number }> => {
  const shouldStop = () => context.getRemainingTimeInMillis() < RESERVE_MS
  const [{ deliverDueMail }, { ses }] = await Promise.all([import('./deliver.ts'), import('./ses.ts')])
  return { sent: await deliverDueMail(await runtime.open(), ses, shouldStop) }
})
