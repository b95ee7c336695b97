import type { Context } from 'aws-lambda'
import { metered } from '#shared/base/metrics.ts'
import { openRuntime } from '#shared/lambda/runtime.ts'
import { auditFailedSignIns } from './audit-sign-ins.ts'
import { resetFactors } from './reset-factors.ts'
import { worker } from './worker.ts'

const RESERVE_MS = 10_000

const runtime = openRuntime(worker)

/** Its schedule invokes it every minute. */
export const handler = metered(
  async (_event: unknown, context: Context): Promise<{ audited: number; reset: number }> => {
    const { database } = await runtime.open()
    const shouldStop = () => context.getRemainingTimeInMillis() < RESERVE_MS
    const reset = await resetFactors(database, shouldStop)
    return { audited: await auditFailedSignIns(database.sql, shouldStop), reset }
  },
)
