import * as v from 'valibot'
import { requestSource } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { unauthorized } from '#shared/base/problem.ts'
import { rateLimited } from '#shared/http/rate-limited.ts'
import { ok } from '#shared/http/reply.ts'
import { digestPassword, hashPassword, isOutdated } from '#shared/password/argon2.ts'
import { normalize, SentPassword } from '#shared/password/password.ts'
import { newToken, hashToken, tokenHashes } from '#shared/secret/secret.ts'
import { CsrfSecret } from '#shared/identity/csrf-secret.ts'
import { secondsLeft } from '#shared/rate-limit/limit.ts'
import { Email } from '#shared/schema/email.ts'
import { deviceKey, failureLimit, loginLimits, networkKey } from './login-limits.ts'
import { findSalt, rehashPassword } from './password-queries.ts'
import { OwedFactor } from './factor.ts'
import { signIn } from './session-queries.ts'
import { countSignIn, SignedIn, signedInReply } from './signed-in.ts'

const Credentials = v.object({ email: Email, password: SentPassword })

export const login = endpoint({
  route: 'POST /v1/auth/login',
  // Its calls count the limits in the round trips that sign in.
  access: { anyone: true, transactions: 'by call' },
  summary: 'Sign in with a password',
  description:
    'Needs no session. If the request carries the bearer token of a live session, a successful sign-in ends that session, ' +
    'whoever its user is. A failed sign-in ends nothing. Any other token is ignored. A user with a second factor gets no session: ' +
    '`second_factor` has the token of an open sign-in, which POST /v1/auth/login/second-factor finishes.',
  audit: { none: 'a new session has no tenant yet; the log line names the session' },
  body: Credentials,
  reply: v.union([SignedIn, OwedFactor]),
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
    const settled = limiter.settleInCache(limits, taken, signedIn.outcome === 'owed' ? 'failed' : signedIn.outcome)
    try {
      await signedIn.committed
    } finally {
      // Also after a failure: Lambda would stop a call that is under way.
      await settled
    }
    if (signedIn.outcome === 'owed') {
      const { methods, expiresAt } = signedIn
      return ok({ second_factor: { sign_in_token: token, expires_at: expiresAt, methods } })
    }
    if (signedIn.outcome !== 'succeeded') {
      if (signedIn.outcome === 'refused')
        throw rateLimited({ limit: failures, retryAfterSeconds: secondsLeft(failures.windowSeconds) })
      countSignIn('failed')
      throw unauthorized('sign-in: unknown user, wrong password, or disabled user')
    }
    const reply = signedInReply({ token, csrfSecret, source }, signedIn)
    if (isOutdated(found.salt, config.argon2))
      await rehashPassword(sql, body.email, digest, await hashPassword(password, config.argon2))
    return ok(reply)
  },
})
