import { loginOf } from '#infra/local/postgres/database.ts'
import { connect, type Database } from '#shared/db/connect.ts'
import type { Login } from '#shared/db/login.ts'
import type { RouteGroup } from '#shared/http/group.ts'
import { given, type Need } from '#shared/needs.ts'
import type { Access, Runtime, ServiceSecret } from '#shared/runtime.ts'

/** Access by values that stay, which can be handed to another process. */
export interface FixedAccess {
  readonly login: Login
  readonly tokens: ServiceSecret
  readonly cache: { readonly url: string; readonly token: string }
  readonly vaultLogin?: Login
}

/** Connects to a local server by a URL. */
export const connectTo = (
  url: string,
  options: { connections: number; prepare: boolean } = { connections: 1, prepare: true },
): Database => connect(async () => loginOf(url), { ...options, tls: 'disable', caFile: '' })

export const accessOf = ({ login, tokens, cache, vaultLogin }: FixedAccess): Access => ({
  login: async () => login,
  tokens,
  cache,
  vaultLogin: vaultLogin === undefined ? null : async () => vaultLogin,
})

/** A runtime as a route group gets it: what the group does not name among its needs throws when used. */
export function runtimeFor({ needs }: RouteGroup, runtime: Runtime): Runtime {
  const part = <Part>(need: Need, value: Part): Part => given(needs.includes(need) ? value : null, need)
  return {
    config: runtime.config,
    wake: (job) => part(`wake:${job}`, runtime.wake)(job),
    get database() {
      return part('database:app', runtime.database)
    },
    get limiter() {
      return part('cache', runtime.limiter)
    },
    get pepper() {
      return part('tokens', runtime.pepper)
    },
    get pepperPrevious() {
      return part('tokens', runtime.pepperPrevious)
    },
    get mailKey() {
      return part('tokens', runtime.mailKey)
    },
    get mailKeyPrevious() {
      return part('tokens', runtime.mailKeyPrevious)
    },
    get vault() {
      return part('vault', runtime.vault)
    },
  }
}
