import { openRuntime } from '#shared/runtime.ts'
import { kmsWhenNeeded } from '#shared/vault/kms-when-needed.ts'
import { decrypter } from '#shared/vault/vault.ts'
import { job } from './job.ts'
import { opener } from './open-credential.ts'

const runtime = openRuntime(job)

export const handler = opener(runtime, decrypter(kmsWhenNeeded(runtime.config.vault.keyId)))
