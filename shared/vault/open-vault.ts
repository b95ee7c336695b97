import type { Config } from '#shared/config.ts'
import { connect, type Invocations } from '#shared/db/connect.ts'
import type { ReadLogin } from '#shared/db/login.ts'
import { once } from '#shared/once.ts'
import type { KeyService } from '#shared/vault/key-service.ts'
import { createVault, type Vault } from '#shared/vault/vault.ts'

/**
 * Returns the vault of a function. Requires the login of identity_vault. Neither connects nor calls KMS. Its transactions may
 * invoke the jobs that the function may invoke.
 */
export const openVault = (config: Config, login: ReadLogin, invocations: Invocations): Vault =>
  createVault(connect(login, config.database, invocations), kmsWhenNeeded(config.vault.keyId))

/** Returns a key service that loads the AWS SDK at its first request. */
function kmsWhenNeeded(keyId: string): KeyService {
  const opened = once(async () => {
    const { keyService, kmsClient } = await import('#shared/vault/kms.ts')
    return keyService(kmsClient(), keyId)
  })
  return {
    generate: async (context) => (await opened()).generate(context),
    unwrap: async (key, context) => (await opened()).unwrap(key, context),
    rewrap: async (key, context, toKeyId) => (await opened()).rewrap(key, context, toKeyId),
  }
}
