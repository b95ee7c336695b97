import { lambda } from '#shared/http/lambda.ts'
import { group } from './group.ts'

export const handler = lambda(group)
