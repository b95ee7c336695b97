import { defineWorker } from '#shared/lambda/worker.ts'

export const worker = defineWorker({
  name: 'maintain',
  needs: ['database:worker'],
  everySeconds: 3600,
  timeoutSeconds: 120,
})
