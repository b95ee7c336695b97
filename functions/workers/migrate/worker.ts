import { defineWorker } from '#shared/lambda/worker.ts'

export const worker = defineWorker({
  name: 'migrate',
  needs: ['database:owner', 'role-passwords', 'migrations'],
  // A minute less than the deployment waits for its response. The migrations give up two minutes earlier (migrate.ts).
  timeoutSeconds: 780,
})
