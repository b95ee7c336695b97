import { job as defineJob } from '#shared/job.ts'
import type { RuntimeFor } from '#shared/runtime.ts'

export const job = defineJob({
  name: 'sync-catalog',
  // It invokes itself to continue a run.
  needs: ['database:worker', 'vault', 'invoke:sync-catalog'],
  // For runs whose invocation was lost, and those whose worker died.
  everySeconds: 60,
  timeoutSeconds: 300,
})

export type Runtime = RuntimeFor<(typeof job)['needs'][number]>
