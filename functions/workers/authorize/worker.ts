import { defineWorker } from '#shared/lambda/worker.ts'

export const worker = defineWorker({
  name: 'authorize',
  needs: ['database:app', 'pepper'],
  timeoutSeconds: 10,
})
