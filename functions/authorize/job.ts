import { job as defineJob } from '#shared/job.ts'

export const job = defineJob({
  name: 'authorize',
  needs: ['database:app', 'pepper'],
  timeoutSeconds: 10,
})
