import type { Config } from '#shared/base/config.ts'
import type { ClientInfo } from '#shared/schema/client.ts'
import { limitOn, perNetwork } from '#shared/http/limit-by.ts'
import { clientNetwork, type Limit } from '#shared/rate-limit/limit.ts'
import { normalizeEmail } from '#shared/schema/email.ts'
import { keyedHash } from '#shared/secret/secret.ts'

interface SignIn {
  readonly email: string
  readonly client: ClientInfo
  readonly config: Config
  readonly pepper: string
}

/** The limit on failed sign-ins of one email from all networks together. */
export const accountLimit = ({ email, config, pepper }: Omit<SignIn, 'client'>): Limit => ({
  ...limitOn('login-account', { pepper }, normalizeEmail(email), {
    limit: config.login.accountLimit,
    windowSeconds: config.login.windowSeconds,
  }),
  onSuccess: 'return',
})

/** Returns the keyed hash of the network that a user signs in from. */
export const networkKey = ({ email, client, pepper }: Omit<SignIn, 'config'>): Buffer =>
  keyedHash(pepper, 'login-network', `${normalizeEmail(email)} ${clientNetwork(client.ip)}`)

/** The name and window of the limit on one email from one network. */
export const emailLimitOf = ({ login }: Config) => ({ name: 'login-email', windowSeconds: login.windowSeconds })

/**
 * The limits of a sign-in. The one of the network comes first, so that one client does not use up the limits of many users.
 * The strict limit on an email counts each network apart, so that nobody shuts a user out from another network. The loose
 * limit over all networks stops many networks from guessing together, and spares those that the user has signed in from.
 */
export function loginLimits(signIn: SignIn): Limit[] {
  const { email, client, config, pepper } = signIn
  const { ipLimit, emailLimit, windowSeconds } = config.login
  const account = accountLimit(signIn)
  const network = clientNetwork(client.ip)
  return [
    { ...perNetwork('login-ip', { client, pepper }, { limit: ipLimit, windowSeconds }), onSuccess: 'return' },
    {
      ...emailLimitOf(config),
      subject: keyedHash(pepper, 'login-email', `${normalizeEmail(email)} ${network}`),
      limit: emailLimit,
      onSuccess: 'forget',
      partOf: account.subject,
    },
    { ...account, unlessKnown: networkKey(signIn) },
  ]
}
