import { job as defineJob } from '#shared/job.ts'
import type { RuntimeFor } from '#shared/runtime.ts'

export const job = defineJob({
  name: 'verify-vendors',
  needs: ['database:worker', 'vault', 'invoke:publish-events'],
  everySeconds: 60,
  timeoutSeconds: 60,
})

export type Runtime = RuntimeFor<(typeof job)['needs'][number]>
