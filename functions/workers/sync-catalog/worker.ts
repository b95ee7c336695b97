import { defineWorker } from '#shared/lambda/worker.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'

export const worker = defineWorker({
  name: 'sync-catalog',
  // It invokes itself to continue a run.
  needs: ['database:worker', 'vault', 'invoke:sync-catalog'],
  // For runs whose invocation was lost, and those whose worker died.
  everySeconds: 60,
  timeoutSeconds: 300,
})

export type Runtime = RuntimeFor<(typeof worker)['needs'][number]>
