import { loginOf } from '#infra/local/postgres/database.ts'
import { connect, type Database, type Invocations } from '#shared/db/connect.ts'
import type { Login } from '#shared/db/login.ts'
import type { Need } from '#shared/needs.ts'
import type { Credentials } from '#shared/runtime.ts'
import type { ServiceSecret } from '#shared/secret/service-secret.ts'

/** Credentials by value, which can be handed to another process. */
export interface FixedAccess {
  readonly login: Login
  readonly serviceSecret: ServiceSecret
  readonly cache: { readonly url: string; readonly token: string }
  readonly vaultLogin?: Login
}

/** The needs of the route groups, for one runtime that serves all of them; a vault is not always there. */
export const COMMON_NEEDS: readonly Need[] = ['database:app', 'service-secret', 'cache', 'invoke:deliver-mail']

/** Connects to a local server by a URL. */
export const connectTo = (
  url: string,
  options: { connections: number; prepare: boolean } = { connections: 1, prepare: true },
  invocations: Invocations = new Map(),
): Database => connect(async () => loginOf(url), { ...options, tls: 'disable', caFile: '' }, invocations)

export const accessOf = ({ login, serviceSecret, cache, vaultLogin }: FixedAccess): Credentials => ({
  login: async () => login,
  serviceSecret,
  cache,
  vaultLogin: vaultLogin === undefined ? null : async () => vaultLogin,
})
