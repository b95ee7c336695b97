import type { Config } from '#shared/config.ts'
import { connect } from '#shared/db/connect.ts'
import type { ReadLogin } from '#shared/db/login.ts'
import { keyService, kmsClient } from '#shared/vault/kms.ts'
import { createVault, type Vault } from '#shared/vault/vault.ts'

/** Returns the vault of a function. Requires the login of identity_vault. Neither connects nor calls KMS. */
export const openVault = (config: Config, login: ReadLogin): Vault =>
  createVault(connect(login, config.database), keyService(kmsClient(), config.vault.keyId))
