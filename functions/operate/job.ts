import { job as defineJob } from '#shared/job.ts'

export const job = defineJob({
  name: 'operate',
  needs: [
    'database:operator',
    'pepper',
    'mail-key',
    'vault',
    'migrations',
    'suppressions',
    'invoke:deliver-mail',
    'invoke:publish-events',
  ],
  timeoutSeconds: 60,
})
