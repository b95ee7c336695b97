import * as v from 'valibot'
import { requestSource } from '#shared/audit/record-audit.ts'
import { Problem } from '#shared/base/problem.ts'
import { resealFactor } from '#shared/factor/reseal.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { CsrfSecret } from '#shared/identity/csrf-secret.ts'
import { isToken } from '#shared/identity/token.ts'
import { hashToken, newToken, tokenHashes } from '#shared/secret/secret.ts'
import { exactlyOne, ProofEntries, sentProof, SignInToken } from './factor.ts'
import { deviceHash, emailLimitOf, networkHash } from './login-limits.ts'
import { finishSignIn as finish, lookAtSignIn } from './open-sign-in-queries.ts'
import { codeLimits, factorRejected, limitReached, recoveryLimit } from './proven-code.ts'
import { credentialIdOf } from './proven-passkey.ts'
import { METHODS, PROOFS, signInProof } from './sign-in-proof.ts'
import { SignedIn, signedInReply } from './signed-in.ts'

/** A 400 of an open sign-in that is unknown, expired or used up. */
export const signInExpired = (): Problem =>
  new Problem('sign-in-expired', { detail: 'Sign in with the password again.' })

export const finishSignIn = endpoint({
  route: 'POST /v1/auth/login/second-factor',
  // Its calls count the limits.
  access: { anyone: true, transactions: 'by call' },
  summary: 'Finish a sign-in with a second factor',
  description:
    'Needs no session. If the request carries the bearer token of a live session, a success ends that session, whoever its user is.',
  audit: { none: 'a new session has no tenant yet; the log line names the session' },
  needs: ['database', 'pepper', 'cache', 'factor-key', 'invoke:deliver-mail'],
  body: v.pipe(
    v.object({ sign_in_token: SignInToken, ...ProofEntries }),
    exactlyOne(PROOFS),
    v.examples([{ sign_in_token: 'b7Vn2kXw9QmD4sRz8TfY1hLc6GpJ3aUe5NoKiWxZtEq', code: '492039' }]),
  ),
  reply: SignedIn,
  problems: ['factor-rejected', 'sign-in-expired', 'rate-limited'],
  async handle(context) {
    const { body, call, client, runtime, sentToken } = context
    const { config, limiter, pepper } = runtime
    if (!isToken(body.sign_in_token)) throw signInExpired()
    const hashes = tokenHashes(runtime, body.sign_in_token)
    const field = sentProof(PROOFS, body)
    const looked = await lookAtSignIn(call, hashes, {
      method: METHODS[field],
      codes: codeLimits(context),
      networkLimit: recoveryLimit(context),
      credentialId: body.credential === undefined ? null : credentialIdOf(body.credential),
    })
    if (looked === null) throw signInExpired()
    if (looked.refused_by !== null) throw limitReached(looked, context)
    const { user_id: userId } = looked
    const [token, csrfSecret, source] = [newToken(), new CsrfSecret(), requestSource(context)]
    const finished = await finish(call, hashes, {
      ...(await signInProof(runtime, body, looked)),
      tokenHash: hashToken(pepper, token),
      csrfSecret,
      network: networkHash({ client, pepper }),
      device: deviceHash({ client, pepper }),
      userAgent: client.userAgent,
      ...config.session,
      sentHashes: sentToken === null ? null : tokenHashes(runtime, sentToken),
      source,
    })
    const mailed = body.recovery_code === undefined && finished !== 'refused' ? 'rehearsal' : undefined
    await call.invoke('deliver-mail', mailed)
    if (finished === null) throw signInExpired()
    if (finished === 'refused') throw factorRejected(field)
    if (looked.factor_id !== null) await resealFactor(call, runtime, userId, looked)
    const failures = {
      ...emailLimitOf(config),
      subject: Buffer.from(looked.limit_key ?? ''),
      limit: config.login.emailLimit,
      counts: 'failures',
    } as const
    await limiter.settleInCache([failures], { inCache: looked.taken_in_cache, inDatabase: '[]' }, 'succeeded')
    return ok(signedInReply({ token, csrfSecret, source }, finished))
  },
})
