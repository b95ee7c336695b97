import { defineWorker } from '#shared/lambda/worker.ts'

export const worker = defineWorker({
  name: 'probe-sign-in',
  needs: ['probe-user'],
  everySeconds: 60,
  timeoutSeconds: 30,
})
