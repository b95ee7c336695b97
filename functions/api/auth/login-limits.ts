import { hash } from 'node:crypto'
import type { Config } from '#shared/base/config.ts'
import type { ClientInfo } from '#shared/schema/client.ts'
import { limitOn, perNetwork, perUser } from '#shared/http/limit-by.ts'
import type { LimitInput } from '#shared/http/request-context.ts'
import { clientNetwork, type Limit } from '#shared/rate-limit/limit.ts'
import { deviceOf } from '#shared/schema/device.ts'
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
  counts: 'until success',
})

/** Returns the keyed hash of the network that a request comes from. */
export const networkHash = ({ client, pepper }: Pick<SignIn, 'client' | 'pepper'>): Buffer =>
  keyedHash(pepper, 'login-network', clientNetwork(client.ip))

/** Returns the keyed hash of the kind of device that a request comes from: the browser and the system, without their versions. */
export const deviceHash = ({ client, pepper }: Pick<SignIn, 'client' | 'pepper'>): Buffer => {
  const { browser, system } = deviceOf(client.userAgent)
  return keyedHash(pepper, 'login-device', `${browser} ${system}`)
}

/** Returns the key of the network or the device of a user, as app.network_of does. */
const keyOf = (origin: Buffer, email: string): Buffer =>
  hash('sha256', Buffer.concat([origin, Buffer.from(normalizeEmail(email))]), 'buffer')

/** Returns the key of the network that a user signs in from. */
export const networkKey = ({ email, ...from }: Omit<SignIn, 'config'>): Buffer => keyOf(networkHash(from), email)

/** Returns the key of the kind of device that a user signs in with. */
export const deviceKey = ({ email, ...from }: Omit<SignIn, 'config'>): Buffer => keyOf(deviceHash(from), email)

/** The name and window of the limit on one email from one network. */
export const emailLimitOf = ({ login }: Config) => ({ name: 'login-email', windowSeconds: login.windowSeconds })

/** The limit on failed sign-ins of one email from one network. */
export const failureLimit = (signIn: SignIn): Limit => ({
  ...emailLimitOf(signIn.config),
  subject: keyedHash(
    signIn.pepper,
    'login-email',
    `${normalizeEmail(signIn.email)} ${clientNetwork(signIn.client.ip)}`,
  ),
  limit: signIn.config.login.emailLimit,
  counts: 'failures',
  partOf: accountLimit(signIn).subject,
})

/**
 * The limits of a sign-in. The two wide ones count an attempt before its password is hashed, so that they bound the hashes that run at
 * once. The one on an email from a network counts failures alone, so that a user may sign in many times at once.
 * The strict limit on an email counts each network apart, so that nobody shuts a user out from another network. The loose
 * limit over all networks stops many networks from guessing together, and spares those that the user has signed in from.
 */
export function loginLimits(signIn: SignIn): Limit[] {
  const { client, config, pepper } = signIn
  const { ipLimit, windowSeconds } = config.login
  return [
    { ...perNetwork('login-ip', { client, pepper }, { limit: ipLimit, windowSeconds }), counts: 'until success' },
    failureLimit(signIn),
    { ...accountLimit(signIn), unlessKnown: networkKey(signIn) },
  ]
}

/** The limit on the tries of the password of a user within their sessions. */
export const ownPasswordLimit = (input: Pick<LimitInput<unknown>, 'config' | 'pepper' | 'principal'>): Limit => {
  const { emailLimit: limit, windowSeconds } = input.config.login
  return perUser('password-change', input, { limit, windowSeconds })
}
