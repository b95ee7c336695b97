import type { Job } from '#shared/job.ts'

export const job: Job = {
  name: 'maintain',
  needs: ['database:worker'],
  everySeconds: 3600,
  timeoutSeconds: 120,
}
