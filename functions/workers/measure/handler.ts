import { metered } from '#shared/base/metrics.ts'
import { openRuntime } from '#shared/lambda/runtime.ts'
import { worker } from './worker.ts'
import { measure } from './measure.ts'

const runtime = openRuntime(worker)

/** Its schedule invokes it every minute. It is a function of its own, so that a failing job does not stop its metrics. */
export const handler = metered(async (): Promise<void> => {
  const { database } = await runtime.open()
  await measure(database.sql)
})
