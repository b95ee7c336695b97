import { loginOf } from '#infra/local/postgres/database.ts'
import { connect, type Database, type Invocations } from '#shared/db/connect.ts'
import type { Login } from '#shared/db/login.ts'
import type { Need } from '#shared/needs.ts'
import type { Credentials } from '#shared/runtime.ts'
import type { TokenSecrets } from '#shared/secret/token-secrets.ts'

/** Credentials by value, which can be handed to another process. */
export interface FixedAccess {
  readonly login: Login
  readonly tokenSecrets: TokenSecrets
  readonly cache: { readonly url: string; readonly token: string }
  readonly vaultLogin?: Login
}

/** The needs of the route groups, for one runtime that serves all of them; a vault is not always there. */
export const COMMON_NEEDS: readonly Need[] = ['database:app', 'pepper', 'mail-key', 'cache', 'invoke:deliver-mail']

/** Connects to a local server by a URL. */
export const connectTo = (
  url: string,
  options: { connections: number; prepare: boolean } = { connections: 1, prepare: true },
  invocations: Invocations = new Map(),
): Database => connect(async () => loginOf(url), { ...options, tls: 'disable', caFile: '' }, invocations)

export const accessOf = ({
  login,
  tokenSecrets: { pepper, pepperPrevious, mailKey, mailKeyPrevious },
  cache,
  vaultLogin,
}: FixedAccess): Credentials => ({
  login: async () => login,
  pepper: { pepper, pepperPrevious },
  mailKey: { mailKey, mailKeyPrevious },
  cache,
  vaultLogin: vaultLogin === undefined ? null : async () => vaultLogin,
})
