import { defineWorker } from '#shared/lambda/worker.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'

export const worker = defineWorker({
  name: 'verify-vendors',
  needs: ['database:worker', 'vault', 'invoke:publish-events'],
  everySeconds: 60,
  timeoutSeconds: 60,
})

export type Runtime = RuntimeFor<(typeof worker)['needs'][number]>
