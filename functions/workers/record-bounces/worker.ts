import { defineWorker } from '#shared/lambda/worker.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'

export const worker = defineWorker({
  name: 'record-bounces',
  needs: ['database:worker'],
  receives: 'mail-events',
  timeoutSeconds: 30,
})

export type Runtime = RuntimeFor<(typeof worker)['needs'][number]>
