import { defineWorker } from '#shared/lambda/worker.ts'

export const worker = defineWorker({
  name: 'open-credential',
  needs: ['database:opener', 'decrypt'],
  timeoutSeconds: 10,
  callers: 'named-services',
})
