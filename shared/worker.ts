import { type Config, parseConfig } from '#shared/config.ts'
import { connect, type Database } from '#shared/db/connect.ts'
import type { Job } from '#shared/job.ts'
import { given } from '#shared/needs.ts'
import { type Access, accessFor, type OpenVault, withFreshServiceSecret } from '#shared/runtime.ts'
import type { TokenSecrets } from '#shared/secret/secret.ts'
import type { Vault } from '#shared/vault/vault.ts'

/** What a job's Lambda owns: the database by the role that it names, and the secrets that mails need. */
export interface Worker extends TokenSecrets {
  readonly config: Config
  readonly database: Database
  readonly vault: Vault
}

/**
 * The worker of this process, opened at the first invocation. Throws ConfigError when a setting does not parse or a need
 * has none. What the job does not name among its needs throws when used.
 */
export function processWorker(
  { needs }: Job,
  openVault: OpenVault | null = null,
): { readonly open: () => Promise<Worker> } {
  const config = parseConfig(process.env)
  return {
    open: withFreshServiceSecret(config, accessFor(config, needs), (access: Access) => {
      const { login, vaultLogin } = access
      const database = connect(given(login, 'database:worker'), config.database)
      const vault = vaultLogin === null || openVault === null ? null : openVault(config, vaultLogin)
      return {
        config,
        database,
        get pepper() {
          return given(access.tokens, 'tokens').pepper
        },
        get pepperPrevious() {
          return given(access.tokens, 'tokens').pepper_previous
        },
        get mailKey() {
          return given(access.tokens, 'tokens').mail_key
        },
        get mailKeyPrevious() {
          return given(access.tokens, 'tokens').mail_key_previous
        },
        get vault() {
          return given(vault, 'vault')
        },
      }
    }),
  }
}
