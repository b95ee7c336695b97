import type { Context } from 'aws-lambda'
import { metered } from '#shared/base/metrics.ts'
import { openRuntime } from '#shared/lambda/runtime.ts'
import { deleteOldTags, worker } from './worker.ts'

const RESERVE_MS = 10_000

const runtime = openRuntime(worker)

/** Its schedule invokes it every day. */
export const handler = metered(async (_event: unknown, context: Context): Promise<{ deleted: number }> => {
  const { database } = await runtime.open()
  return { deleted: await deleteOldTags(database.sql, () => context.getRemainingTimeInMillis() < RESERVE_MS) }
})
