import type { Context } from 'aws-lambda'
import { metered } from '#shared/metrics.ts'
import { openRuntime } from '#shared/runtime.ts'
import { maintain } from './maintain.ts'
import { job } from './job.ts'

const RESERVE_MS = 10_000

const runtime = openRuntime(job)

/** Its schedule invokes it every hour. */
export const handler = metered(async (_event: unknown, context: Context): Promise<object> => {
  const { database } = await runtime.open()
  return maintain(database.sql, () => context.getRemainingTimeInMillis() < RESERVE_MS)
})
