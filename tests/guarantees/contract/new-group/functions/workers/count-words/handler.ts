import type { Context } from 'aws-lambda'
import { metered } from '#shared/base/metrics.ts'
import { openRuntime } from '#shared/lambda/runtime.ts'
import { countWords, worker } from './worker.ts'

const RESERVE_MS = 10_000

const runtime = openRuntime(worker)

/** Its schedule invokes it every minute. */
export const handler = metered(async (_event: unknown, context: Context): Promise<{ counted: number }> => {
  const { database } = await runtime.open()
  return { counted: await countWords(database, () => context.getRemainingTimeInMillis() < RESERVE_MS) }
})
