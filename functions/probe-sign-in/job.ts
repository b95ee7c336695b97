import { job as defineJob } from '#shared/job.ts'

export const job = defineJob({
  name: 'probe-sign-in',
  needs: ['probe-user'],
  everySeconds: 60,
  timeoutSeconds: 30,
})
