import { defineWorker } from '#shared/lambda/worker.ts'

export const worker = defineWorker({
  name: 'audit-sign-ins',
  needs: ['database:worker'],
  everySeconds: 60,
  timeoutSeconds: 50,
})
