import { job as defineJob } from '#shared/job.ts'
import type { RuntimeFor } from '#shared/runtime.ts'

export const job = defineJob({
  name: 'deliver-mail',
  needs: ['database:mailer', 'pepper', 'mail-key', 'mail'],
  // For jobs whose invocation after the commit was lost.
  everySeconds: 60,
  timeoutSeconds: 60,
})

export type Runtime = RuntimeFor<(typeof job)['needs'][number]>
