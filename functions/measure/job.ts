import { job as defineJob } from '#shared/job.ts'

export const job = defineJob({
  name: 'measure',
  needs: ['database:worker'],
  everySeconds: 60,
  timeoutSeconds: 10,
})
