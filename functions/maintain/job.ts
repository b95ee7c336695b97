import { job as defineJob } from '#shared/job.ts'

export const job = defineJob({
  name: 'maintain',
  needs: ['database:worker'],
  everySeconds: 3600,
  timeoutSeconds: 120,
})
