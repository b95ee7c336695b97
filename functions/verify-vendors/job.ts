import type { Job } from '#shared/job.ts'

export const job: Job = {
  name: 'verify-vendors',
  needs: ['database:worker', 'vault'],
  everySeconds: 60,
  timeoutSeconds: 60,
}
