import { unauthorized } from '#shared/base/problem.ts'
import type { Assertion } from '#shared/factor/credential.ts'
import type { CallByTicket } from '#shared/db/calls.ts'
import { rateLimited } from '#shared/http/rate-limited.ts'
import type { SessionPrincipal } from '#shared/identity/session.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'
import { digestPassword } from '#shared/password/argon2.ts'
import { normalize } from '#shared/password/password.ts'
import type { ClientInfo } from '#shared/schema/client.ts'
import { type CodeProof, lookAtOwnApp } from './factor-queries.ts'
import { ownPasswordLimit } from './login-limits.ts'
import { findOwnSalt } from './password-queries.ts'
import { lookAtOwnPasskey } from './passkey-queries.ts'
import type { PasskeyProof } from './passkey-value.ts'
import { codeLimits, limitReached, provenCode, recoveryLimit } from './proven-code.ts'
import { credentialIdOf, provenPasskey } from './proven-passkey.ts'

interface Context {
  readonly call: CallByTicket
  readonly client: ClientInfo
  readonly principal: SessionPrincipal
  readonly runtime: Omit<RuntimeFor<'database' | 'pepper' | 'factor-key'>, 'database'>
}

/** Counts a try of the principal's password, and returns the digest of what was sent. */
export async function ownDigest({ call, principal, runtime }: Context, sent: string): Promise<Buffer> {
  const { config, pepper } = runtime
  const limit = ownPasswordLimit({ config, pepper, principal })
  const found = await findOwnSalt(call, principal.ticket, limit)
  if ('wait' in found) throw rateLimited({ limit, retryAfterSeconds: found.wait })
  return digestPassword(normalize(sent), found.salt, found.costs)
}

/** Counts a code of the principal's app, and returns its proof, or null when it is wrong or there is no app. */
export async function ownCode(context: Context, code: string): Promise<CodeProof | null> {
  const { call, principal, runtime } = context
  const app = await lookAtOwnApp(call, principal.ticket, codeLimits(context))
  if (app === undefined) throw unauthorized('the session ended during the request', true)
  if (app.refused_by !== null) throw limitReached(app, context)
  return app.factor_id === null ? null : provenCode(runtime, code, principal.user.id, app)
}

/** Counts a use of a passkey, and returns its proof, or null when it is refused or another user's. */
export async function ownPasskey(context: Context, credential: Assertion): Promise<PasskeyProof | null> {
  const { call, principal, runtime } = context
  const found = await lookAtOwnPasskey(call, principal.ticket, credentialIdOf(credential), recoveryLimit(context))
  if (found === null) return null
  if (found.refused_by !== null) throw limitReached(found, context)
  return provenPasskey(runtime, credential, found, { purpose: 'step-up', subject: principal.session.id })
}
