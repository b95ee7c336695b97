import { metered } from '#shared/metrics.ts'
import { openRuntime } from '#shared/runtime.ts'
import { job } from './job.ts'
import { measure } from './measure.ts'

const runtime = openRuntime(job)

/** Run every minute, apart from the jobs that it watches. */
export const handler = metered(async (): Promise<void> => {
  const { database } = await runtime.open()
  await measure(database.sql)
})
