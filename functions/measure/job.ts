import type { Job } from '#shared/job.ts'

export const job: Job = {
  name: 'measure',
  needs: ['database:worker'],
  everySeconds: 60,
  timeoutSeconds: 10,
}
