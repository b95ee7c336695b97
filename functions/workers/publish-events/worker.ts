import { defineWorker } from '#shared/lambda/worker.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'

export const worker = defineWorker({
  name: 'publish-events',
  needs: ['database:publisher', 'event-bus'],
  // For events whose invocation after the commit was lost, and those that are due again.
  everySeconds: 60,
  timeoutSeconds: 60,
})

export type Runtime = RuntimeFor<(typeof worker)['needs'][number]>
