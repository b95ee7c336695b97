import { randomBytes } from 'node:crypto'
import { databaseRole, type DatabaseRole, type Need, SERVICE_ROLES } from '#shared/base/needs.ts'
import { newRecoveryCodes } from '#shared/factor/code.ts'
import { newTotpSecret } from '#shared/factor/totp.ts'
import { readIfThere, writePrivateFile } from './private-file.ts'

/** The names of the secrets. */
export const SECRETS = {
  pepper: 'tenantry/pepper',
  mailKey: 'tenantry/mail-key',
  factorKey: 'tenantry/factor-key',
  webKey: 'tenantry/web-key',
  cache: 'tenantry/cache',
}

/** Returns the name of the secret with the login of a role. */
export const loginSecret = (role: DatabaseRole): string => `tenantry/database/${role}`

/** Kept over restarts, so that sessions and encrypted data stay valid. */
interface KeptSecrets {
  readonly pepper: string
  readonly mailKey: string
  readonly factorKey: string
  readonly webKey: string
  readonly rolePassword: string
  /** Of the user who has a second factor. */
  readonly totpSecret: string
  readonly recoveryCodes: readonly string[]
}

/** Reads the secrets of a file, and makes those that are missing. */
export async function keptSecrets(file: string): Promise<KeptSecrets> {
  const text = await readIfThere(file)
  const random = () => randomBytes(32).toString('base64url')
  const kept: Partial<KeptSecrets> = text === undefined ? {} : JSON.parse(text)
  const secrets = { pepper: random(), mailKey: random(), factorKey: random(), webKey: random() }
  // What an older version kept may lack some of them.
  const secondFactor = { totpSecret: newTotpSecret(), recoveryCodes: newRecoveryCodes() }
  const made = { ...secrets, rolePassword: random(), ...secondFactor, ...kept }
  await writePrivateFile(file, JSON.stringify(made))
  return made
}

/** Returns the environment variables that name the secrets of a function with these needs. */
export function secretsFor(needs: readonly Need[]): Record<string, string> {
  const role = databaseRole(needs)
  return {
    ...(role === null ? {} : { DATABASE_SECRET_ID: loginSecret(role) }),
    ...(needs.includes('role-passwords') ? { ROLE_SECRET_IDS: SERVICE_ROLES.map(loginSecret).join() } : {}),
    ...(needs.includes('pepper') ? { PEPPER_SECRET_ID: SECRETS.pepper } : {}),
    ...(needs.includes('mail-key') ? { MAIL_KEY_SECRET_ID: SECRETS.mailKey } : {}),
    ...(needs.includes('factor-key') ? { FACTOR_KEY_SECRET_ID: SECRETS.factorKey } : {}),
    ...(needs.includes('web-key') ? { WEB_KEY_SECRET_ID: SECRETS.webKey } : {}),
    ...(needs.includes('cache') ? { CACHE_SECRET_ID: SECRETS.cache } : {}),
    ...(needs.includes('vault') ? { VAULT_DATABASE_SECRET_ID: loginSecret('vault') } : {}),
  }
}
