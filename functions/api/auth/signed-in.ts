import * as v from 'valibot'
import type { requestSource } from '#shared/audit/record-audit.ts'
import { log } from '#shared/base/log.ts'
import { recordMetric } from '#shared/base/metrics.ts'
import type { CsrfSecret } from '#shared/identity/csrf-secret.ts'
import { CsrfToken, Session } from '#shared/identity/session.ts'
import { User } from '#shared/identity/user.ts'

/** What a sign-in returns, and what gives a session another token. */
export const SignedIn = v.object({
  token: v.pipe(v.string(), v.examples(['Zk3mS0tQ9rYbD1fHxW7uVaC5nE2gJ4iK6lP8oR0sT2w'])),
  token_type: v.literal('Bearer'),
  csrf_token: CsrfToken,
  session: Session,
  user: User,
})

/** Counts a sign-in. Records a value of both metrics every time: the alarm on their ratio needs both. */
export function countSignIn(outcome: 'succeeded' | 'failed'): void {
  recordMetric('SignInSucceeded', outcome === 'succeeded' ? 1 : 0)
  recordMetric('SignInFailed', outcome === 'failed' ? 1 : 0)
}

/** Counts and logs a sign-in that is finished, and returns its reply. */
export function signedInReply(
  { token, csrfSecret, source }: { token: string; csrfSecret: CsrfSecret; source: ReturnType<typeof requestSource> },
  { session, user }: { session: Session; user: User },
) {
  countSignIn('succeeded')
  log.info('signed in', {
    request_id: source.requestId,
    client_request_id: source.clientRequestId ?? undefined,
    user_id: user.id,
    session_id: session.id,
    ip_hash: source.ipHash.toString('hex'),
  })
  return tokenReply({ token, csrfSecret }, { session, user })
}

/** Returns the reply with a token of a session. */
export const tokenReply = (
  { token, csrfSecret }: { token: string; csrfSecret: CsrfSecret },
  { session, user }: { session: Session; user: User },
) => ({ token, token_type: 'Bearer' as const, csrf_token: csrfSecret.tokenOf(session.id), session, user })
