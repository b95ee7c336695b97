import type { LimitInput } from '#shared/http/request-context.ts'
import { clientNetwork, type Limit } from '#shared/rate-limit/limit.ts'
import { keyedHash } from '#shared/secret/secret.ts'

type Most = Pick<Limit, 'limit' | 'windowSeconds'>

/** Returns a limit of this name on a value. The store of the counts gets a hash of the value. */
export const limitOn = (name: string, { pepper }: Pick<LimitInput<unknown>, 'pepper'>, value: string, most: Most) => ({
  name,
  subject: keyedHash(pepper, name, value),
  ...most,
})

/** Returns a limit of this name for each tenant. */
export const perTenant = (name: string, input: Pick<LimitInput<unknown>, 'pepper' | 'principal'>, most: Most): Limit =>
  limitOn(name, input, input.principal?.tenant?.id ?? '', most)

/** Returns a limit of this name for each user. */
export const perUser = (name: string, input: Pick<LimitInput<unknown>, 'pepper' | 'principal'>, most: Most): Limit =>
  limitOn(name, input, input.principal?.kind === 'session' ? input.principal.user.id : '', most)

/** Returns a limit of this name for each network that requests come from. */
export const perNetwork = (name: string, input: Pick<LimitInput<unknown>, 'pepper' | 'client'>, most: Most): Limit =>
  limitOn(name, input, clientNetwork(input.client.ip), most)
