import { job as defineJob } from '#shared/job.ts'
import type { RuntimeFor } from '#shared/runtime.ts'

export const job = defineJob({
  name: 'deliver-mail',
  needs: ['database:worker', 'service-secret', 'mail'],
  // Woken after each commit that enqueued mail; the schedule finds what a lost call leaves.
  everySeconds: 60,
  timeoutSeconds: 60,
})

export type Runtime = RuntimeFor<(typeof job)['needs'][number]>
