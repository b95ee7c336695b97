import { job as defineJob } from '#shared/job.ts'

export const job = defineJob({
  name: 'open-credential',
  needs: ['database:opener', 'decrypt'],
  timeoutSeconds: 10,
  callers: 'named-services',
})
