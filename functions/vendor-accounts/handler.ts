import { lambda } from '#shared/http/lambda.ts'
import { processRuntime } from '#shared/runtime.ts'
import { openVault } from '#shared/vault/open-vault.ts'
import { group } from './group.ts'

export const handler = lambda(group, processRuntime(group.needs, openVault))
