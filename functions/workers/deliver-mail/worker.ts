import { defineWorker } from '#shared/lambda/worker.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'

export const worker = defineWorker({
  name: 'deliver-mail',
  needs: ['database:mailer', 'pepper', 'mail-key', 'mail'],
  // For jobs whose invocation after the commit was lost.
  everySeconds: 60,
  timeoutSeconds: 60,
})

export type Runtime = RuntimeFor<(typeof worker)['needs'][number]>
