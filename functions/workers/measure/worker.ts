import { defineWorker } from '#shared/lambda/worker.ts'

export const worker = defineWorker({
  name: 'measure',
  needs: ['database:worker'],
  everySeconds: 60,
  timeoutSeconds: 10,
})
