import type { Job } from '#shared/job.ts'

export const job: Job = {
  name: 'operate',
  needs: ['database:operator', 'tokens', 'vault', 'wake:deliver-mail'],
  timeoutSeconds: 60,
}
