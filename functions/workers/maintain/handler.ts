import type { Context } from 'aws-lambda'
import { metered } from '#shared/base/metrics.ts'
import { openRuntime } from '#shared/lambda/runtime.ts'
import { maintain } from './maintain.ts'
import { worker } from './worker.ts'

const RESERVE_MS = 10_000

const runtime = openRuntime(worker)

/** Its schedule invokes it every hour. */
export const handler = metered(async (_event: unknown, context: Context): Promise<object> => {
  const { database } = await runtime.open()
  return maintain(database.sql, () => context.getRemainingTimeInMillis() < RESERVE_MS)
})
