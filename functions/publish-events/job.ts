import { job as defineJob } from '#shared/job.ts'
import type { RuntimeFor } from '#shared/runtime.ts'

export const job = defineJob({
  name: 'publish-events',
  needs: ['database:publisher', 'event-bus'],
  // For events whose invocation after the commit was lost, and those that are due again.
  everySeconds: 60,
  timeoutSeconds: 60,
})

export type Runtime = RuntimeFor<(typeof job)['needs'][number]>
