import { SESv2Client } from '@aws-sdk/client-sesv2'
import type { Context } from 'aws-lambda'
import { metered } from '#shared/metrics.ts'
import { openRuntime } from '#shared/runtime.ts'
import { deliverDueMail } from './deliver.ts'
import { job } from './job.ts'

const RESERVE_MS = 10_000

const runtime = openRuntime(job)
const ses = new SESv2Client({ maxAttempts: 1 })

/** Invoked after each commit that enqueues mail, and by its schedule, which finds what a lost invocation leaves. */
export const handler = metered(async (_event: unknown, context: Context): Promise<{ sent: number }> => {
  const shouldStop = () => context.getRemainingTimeInMillis() < RESERVE_MS
  return { sent: await deliverDueMail(await runtime.open(), ses, shouldStop) }
})
