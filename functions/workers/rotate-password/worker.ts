import { defineWorker } from '#shared/lambda/worker.ts'

/** Secrets Manager invokes it, four times for each rotation of a login's password. */
export const worker = defineWorker({
  name: 'rotate-password',
  needs: ['password-rotation'],
  timeoutSeconds: 30,
})
