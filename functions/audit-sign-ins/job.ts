import { job as defineJob } from '#shared/job.ts'

export const job = defineJob({
  name: 'audit-sign-ins',
  needs: ['database:worker'],
  everySeconds: 60,
  timeoutSeconds: 50,
})
