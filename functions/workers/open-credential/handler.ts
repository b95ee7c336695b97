import { openRuntime } from '#shared/lambda/runtime.ts'
import { kmsWhenNeeded } from '#shared/vault/kms-when-needed.ts'
import { decrypter } from '#shared/vault/vault.ts'
import { worker } from './worker.ts'
import { opener } from './open-credential.ts'

const runtime = openRuntime(worker)

export const handler = opener(runtime, decrypter(kmsWhenNeeded(runtime.config.vault.keyId)))
