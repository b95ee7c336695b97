import { openRuntime } from '#shared/lambda/runtime.ts'
import { authorizer } from './authorizer.ts'
import { worker } from './worker.ts'

export const handler = authorizer(openRuntime(worker))
