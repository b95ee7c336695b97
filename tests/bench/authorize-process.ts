import { authorizer } from '#functions/workers/authorize/authorizer.ts'
import { worker } from '#functions/workers/authorize/worker.ts'
import { startLambda } from '#infra/local/aws/lambda.ts'
import { parseConfig } from '#shared/base/config.ts'
import { createRuntime } from '#shared/lambda/runtime.ts'
import { accessOf } from '#tests/support/access.ts'
import { givenOptions, serveAt } from './processes.ts'
import type { ServiceOptions } from './service-process.ts'

// The function `authorize` behind Lambda's Invoke. Asynchronous invocations of the other functions are accepted and do nothing.
const { env, access } = givenOptions() as ServiceOptions
const config = parseConfig(env)
const runtime = createRuntime(worker.needs, config, accessOf(access, worker.needs))
const lambda = await startLambda()
lambda.serve('authorize', { worker, invoke: authorizer({ config, open: async () => runtime }) })
for (const name of ['deliver-mail', 'publish-events', 'sync-catalog'])
  lambda.serve(name, { worker: { timeoutSeconds: 1 }, invoke: async () => ({}) })
serveAt(lambda.url)
