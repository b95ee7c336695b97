import { EventBridgeClient } from '@aws-sdk/client-eventbridge'
import type { Context } from 'aws-lambda'
import { metered } from '#shared/metrics.ts'
import { openRuntime } from '#shared/runtime.ts'
import { job } from './job.ts'
import { publishDueEvents } from './publish.ts'

const RESERVE_MS = 10_000

const runtime = openRuntime(job)
const eventBridge = new EventBridgeClient({ maxAttempts: 1 })

/** Invoked after each commit that adds an event, and by its schedule. */
export const handler = metered(async (_event: unknown, context: Context): Promise<{ published: number }> => {
  const shouldStop = () => context.getRemainingTimeInMillis() < RESERVE_MS
  return { published: await publishDueEvents(await runtime.open(), eventBridge, shouldStop) }
})
