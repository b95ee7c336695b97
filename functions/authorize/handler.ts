import { openRuntime } from '#shared/runtime.ts'
import { authorizer } from './authorizer.ts'
import { job } from './job.ts'

export const handler = authorizer(openRuntime(job))
