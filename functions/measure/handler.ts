import { metered } from '#shared/log.ts'
import { processWorker } from '#shared/worker.ts'
import { job } from './job.ts'
import { measure } from './measure.ts'

const worker = processWorker(job)

/** Run every minute, apart from the jobs that it watches. */
export const handler = metered(async (): Promise<void> => {
  const { database } = await worker.open()
  await measure(database.sql)
})
