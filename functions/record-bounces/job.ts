import { job as defineJob } from '#shared/job.ts'
import type { RuntimeFor } from '#shared/runtime.ts'

export const job = defineJob({
  name: 'record-bounces',
  needs: ['database:worker'],
  receives: 'mail-events',
  timeoutSeconds: 30,
})

export type Runtime = RuntimeFor<(typeof job)['needs'][number]>
