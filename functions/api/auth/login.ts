import * as v from 'valibot'
import { requestSource } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { unauthorized } from '#shared/base/problem.ts'
import { rateLimited } from '#shared/http/rate-limited.ts'
import { ok } from '#shared/http/reply.ts'
import { log } from '#shared/base/log.ts'
import { recordMetric } from '#shared/base/metrics.ts'
import { digestPassword, hashPassword, isOutdated } from '#shared/password/argon2.ts'
import { normalize, SentPassword } from '#shared/password/password.ts'
import { newToken, hashToken, tokenHashes } from '#shared/secret/secret.ts'
import { CsrfSecret } from '#shared/identity/csrf-secret.ts'
import { CsrfToken, Session } from '#shared/identity/session.ts'
import { secondsLeft } from '#shared/rate-limit/limit.ts'
import { Email } from '#shared/schema/email.ts'
import { User } from '#shared/identity/user.ts'
import { deviceKey, failureLimit, loginLimits, networkKey } from './login-limits.ts'
import { findSalt, rehashPassword } from './password-queries.ts'
import { signIn } from './session-queries.ts'

const Credentials = v.object({ email: Email, password: SentPassword })

// Records a value of both metrics every time: the alarm on their ratio needs both.
function countSignIn(outcome: 'succeeded' | 'failed'): void {
  recordMetric('SignInSucceeded', outcome === 'succeeded' ? 1 : 0)
  recordMetric('SignInFailed', outcome === 'failed' ? 1 : 0)
}

export const login = endpoint({
  route: 'POST /v1/auth/login',
  // Its calls count the limits in the round trips that sign in.
  access: { anyone: true, transactions: 'by call' },
  summary: 'Sign in with a password',
  description:
    'Needs no session. If the request carries the bearer token of a live session, a successful sign-in ends that session, ' +
    'whoever its user is. A failed sign-in ends nothing. Any other token is ignored.',
  audit: { none: 'a new session has no tenant yet; the log line names the session' },
  body: Credentials,
  reply: v.object({
    token: v.pipe(v.string(), v.examples(['Zk3mS0tQ9rYbD1fHxW7uVaC5nE2gJ4iK6lP8oR0sT2w'])),
    token_type: v.literal('Bearer'),
    csrf_token: CsrfToken,
    session: Session,
    user: User,
  }),
  problems: [401],
  limits: ({ body, ...input }) => loginLimits({ ...input, email: body.email }),
  async handle({ body, call, sql, sentToken, client, requestId, runtime }) {
    const { config, pepper, limiter } = runtime
    const asked = { email: body.email, client, config, pepper }
    const [limits, failures] = [loginLimits(asked), failureLimit(asked)]
    const password = normalize(body.password)
    const reading = () => findSalt(call.repeatable, body.email)
    const counted = await limiter.attemptWhileReading(limits, reading)
    if ('limit' in counted) throw rateLimited(counted)
    const { found, taken } = counted
    // Another thread computes it. What does not depend on it is prepared at the same time.
    const digesting = digestPassword(password, found.salt, found.costs)
    const token = newToken()
    const csrfSecret = new CsrfSecret()
    const source = requestSource({ client, requestId, runtime })
    const prepared = {
      email: body.email,
      tokenHash: hashToken(pepper, token),
      csrfSecret,
      networkKey: networkKey(asked),
      deviceKey: deviceKey(asked),
      userAgent: client.userAgent,
      pendingSeconds: config.session.pendingSeconds,
      absoluteSeconds: config.session.absoluteSeconds,
      maxPerUser: config.session.maxPerUser,
      sentHashes: sentToken === null ? null : tokenHashes(runtime, sentToken),
      failures,
      taken,
      source,
    }
    const digest = await digesting
    const signedIn = await signIn(call, { ...prepared, digest })
    const settled = limiter.settleInCache(limits, taken, signedIn.outcome)
    try {
      await signedIn.committed
    } finally {
      // Also after a failure: Lambda would stop a call that is under way.
      await settled
    }
    if (signedIn.outcome !== 'succeeded') {
      if (signedIn.outcome === 'refused')
        throw rateLimited({ limit: failures, retryAfterSeconds: secondsLeft(failures.windowSeconds) })
      countSignIn('failed')
      throw unauthorized('sign-in: unknown user, wrong password, or disabled user')
    }
    countSignIn('succeeded')
    const { session, user } = signedIn
    log.info('signed in', {
      request_id: requestId,
      client_request_id: client.requestId ?? undefined,
      user_id: user.id,
      session_id: session.id,
      ip_hash: source.ipHash.toString('hex'),
    })
    if (isOutdated(found.salt, config.argon2))
      await rehashPassword(sql, body.email, digest, await hashPassword(password, config.argon2))
    return ok({ token, token_type: 'Bearer', csrf_token: csrfSecret.tokenOf(session.id), session, user })
  },
})
