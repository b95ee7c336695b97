import { defineWorker } from '#shared/lambda/worker.ts'

export const worker = defineWorker({
  name: 'operate',
  needs: [
    'database:operator',
    'pepper',
    'mail-key',
    'factor-key',
    'vault',
    'migrations',
    'suppressions',
    'invoke:deliver-mail',
    'invoke:publish-events',
  ],
  timeoutSeconds: 60,
})
