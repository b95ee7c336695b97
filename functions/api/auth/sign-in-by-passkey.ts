import * as v from 'valibot'
import { requestSource } from '#shared/audit/record-audit.ts'
import { countMetric } from '#shared/base/metrics.ts'
import { unauthorized } from '#shared/base/problem.ts'
import { Assertion } from '#shared/factor/credential.ts'
import { resealFactor } from '#shared/factor/reseal.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { CsrfSecret } from '#shared/identity/csrf-secret.ts'
import { hashToken, newToken, tokenHashes } from '#shared/secret/secret.ts'
import { deviceHash, networkHash } from './login-limits.ts'
import { findPasskey, signInByPasskey as signIn } from './passkey-queries.ts'
import { limitReached, recoveryLimit } from './proven-code.ts'
import { credentialIdOf, passkeyParty, provenPasskey } from './proven-passkey.ts'
import { countSignIn, SignedIn, signedInReply } from './signed-in.ts'

export const signInByPasskey = endpoint({
  route: 'POST /v1/auth/login/passkey',
  // Its calls count the limit.
  access: { anyone: true, transactions: 'by call' },
  summary: 'Sign in with a passkey alone',
  description:
    'Needs no session. If the request carries the bearer token of a live session, a success ends that session, whoever its user is. ' +
    'The session has two factors: a passkey verifies its user.',
  audit: { none: 'a new session has no tenant yet; the log line names the session' },
  needs: ['database', 'pepper', 'factor-key', 'invoke:deliver-mail'],
  body: v.object({ credential: Assertion }),
  reply: SignedIn,
  problems: [401, 404, 'rate-limited'],
  async handle(context) {
    const { body, call, client, runtime, sentToken } = context
    const { config, pepper } = runtime
    passkeyParty(runtime)
    const found = await findPasskey(call, credentialIdOf(body.credential), recoveryLimit(context))
    if (found !== null && found.refused_by !== null) throw limitReached(found, context)
    const passkey = found && (await provenPasskey(runtime, body.credential, found, { purpose: 'sign-in' }))
    const [token, csrfSecret, source] = [newToken(), new CsrfSecret(), requestSource(context)]
    const signedIn =
      passkey &&
      (await signIn(call, {
        passkey,
        tokenHash: hashToken(pepper, token),
        csrfSecret,
        network: networkHash({ client, pepper }),
        device: deviceHash({ client, pepper }),
        userAgent: client.userAgent,
        ...config.session,
        sentHashes: sentToken === null ? null : tokenHashes(runtime, sentToken),
        source,
      }))
    await call.invoke('deliver-mail', 'rehearsal')
    if (signedIn === null || found === null) {
      countSignIn('failed')
      countMetric('SecondFactorFailed', 'credential')
      throw unauthorized('sign-in by a passkey: unknown, refused, or of a disabled user')
    }
    await resealFactor(call, runtime, found.user_id, { ...found, sealed_secret: null })
    return ok(signedInReply({ token, csrfSecret, source }, signedIn))
  },
})
