import { GROUP_PARTS, lambda } from '#shared/http/lambda.ts'
import { openRuntime } from '#shared/lambda/runtime.ts'
import { openVault } from '#shared/vault/open-vault.ts'
import { group } from './group.ts'

export const handler = lambda(group, openRuntime(group, { ...GROUP_PARTS, openVault }))
