import { loginOf } from '#infra/local/postgres/database.ts'
import type { Config } from '#shared/base/config.ts'
import { connect, type Database, type Invocations } from '#shared/db/connect.ts'
import type { Login } from '#shared/db/login.ts'
import { databaseRole, type DatabaseRole, type Need, SERVICE_ROLES, type ServiceRole } from '#shared/base/needs.ts'
import { createRuntime, type Credentials, type Parts, type Runtime } from '#shared/lambda/runtime.ts'
import type { TokenSecrets } from '#shared/secret/token-secrets.ts'
import { FACTOR_KEY, PREVIOUS_FACTOR_KEY } from './settings.ts'

/** Credentials by value, which can be handed to another process. */
export interface FixedAccess {
  readonly logins: Readonly<Partial<Record<DatabaseRole, Login>>>
  readonly tokenSecrets: TokenSecrets
  readonly cache: { readonly url: string; readonly token: string }
}

/** Returns the logins of a prepared database, at another port of this machine if one is given. */
export const loginsOf = (urls: Readonly<Record<ServiceRole, string>>, port?: number): FixedAccess['logins'] =>
  Object.fromEntries(
    SERVICE_ROLES.map((role) => {
      const login = loginOf(urls[role])
      return [role, port === undefined ? login : { ...login, host: '127.0.0.1', port }]
    }),
  )

/** The needs of the route groups, for one runtime that serves those of a role; a vault is not always there. */
export const commonNeeds = (role: ServiceRole): readonly Need[] => [
  `database:${role}`,
  'pepper',
  'mail-key',
  'factor-key',
  'cache',
  'invoke:deliver-mail',
  'invoke:publish-events',
]

/** Returns the runtime of each group of a process: one for all groups of a role. */
export function commonRuntimes(config: Config, access: FixedAccess, parts: Parts) {
  const create = (role: ServiceRole): Runtime => {
    const needs = commonNeeds(role)
    return createRuntime(needs, config, accessOf(access, needs), parts)
  }
  const [app, auth, services] = [create('app'), create('auth'), create('services')]
  return ({ needs }: { readonly needs: readonly Need[] }): Runtime => {
    const role = databaseRole(needs)
    return role === 'auth' ? auth : role === 'services' ? services : app
  }
}

/** Any audit entry may be published. */
const PUBLISHER: Invocations = new Map([['publish-events', async () => {}]])

/** Connects to a local server by a URL. */
export const connectTo = (
  url: string,
  options: { connections: number; prepare: boolean } = { connections: 1, prepare: true },
  invocations: Invocations = PUBLISHER,
): Database => connect(async () => loginOf(url), { ...options, tls: 'disable', caFile: '' }, invocations)

export function accessOf({ logins, tokenSecrets, cache }: FixedAccess, needs: readonly Need[]): Credentials {
  const { pepper, pepperPrevious, mailKey, mailKeyPrevious } = tokenSecrets
  const reading = (login: Login | undefined) => (login === undefined ? null : async () => login)
  return {
    login: reading(logins[databaseRole(needs) ?? 'app']),
    pepper: { pepper, pepperPrevious },
    mailKey: { mailKey, mailKeyPrevious },
    factorKey: { factorKey: FACTOR_KEY, factorKeyPrevious: PREVIOUS_FACTOR_KEY },
    cache,
    vaultLogin: reading(logins.vault),
  }
}
