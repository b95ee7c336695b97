import { log } from '#shared/base/log.ts'
import { lambda } from '#shared/http/lambda.ts'
import { ARGON2 } from '#shared/password/derive.ts'
import { atStart } from './at-start.ts'

export const handler = lambda(atStart)

log.info('an instance started', { argon2: ARGON2 })
