import type { Job } from '#shared/job.ts'

export const job: Job = {
  name: 'migrate',
  needs: ['database:owner', 'role-passwords'],
  timeoutSeconds: 900,
}
