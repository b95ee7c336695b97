import type { Context } from 'aws-lambda'
import { metered } from '#shared/base/metrics.ts'
import { openRuntime } from '#shared/lambda/runtime.ts'
import { worker } from './worker.ts'

const RESERVE_MS = 10_000

const runtime = openRuntime(worker)

/** Invoked after each commit that adds an event, and by its schedule. */
export const handler = metered(async (_event: unknown, context: Context): Promise<{ published: number }> => {
  const shouldStop = () => context.getRemainingTimeInMillis() < RESERVE_MS
  const [{ publishDueEvents }, { eventBridge }] = await Promise.all([
    import('./publish.ts'),
    import('./event-bridge.ts'),
  ])
  return { published: await publishDueEvents(await runtime.open(), eventBridge, shouldStop) }
})
