import type { Config } from '#shared/base/config.ts'
import { connect, type Invocations } from '#shared/db/connect.ts'
import type { ReadLogin } from '#shared/db/login.ts'
import { kmsWhenNeeded } from '#shared/vault/kms-when-needed.ts'
import { createVault, type Vault } from '#shared/vault/vault.ts'

/**
 * Returns the vault of a function. Requires the login of identity_vault. Neither connects nor calls KMS. Its transactions may
 * invoke the jobs that the function may invoke.
 */
export const openVault = (config: Config, login: ReadLogin, invocations: Invocations): Vault =>
  createVault(connect(login, config.database, invocations), kmsWhenNeeded(config.vault.keyId))
