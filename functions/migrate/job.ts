import { job as defineJob } from '#shared/job.ts'

export const job = defineJob({
  name: 'migrate',
  needs: ['database:owner', 'role-passwords'],
  timeoutSeconds: 900,
})
