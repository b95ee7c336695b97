import { describe, expect, it } from 'vitest'
import { resetFactors } from '#functions/workers/audit-sign-ins/reset-factors.ts'
import {
  codeNow,
  finish,
  login,
  mailedSetupCode,
  newDraft,
  newFactorUser,
  newUser,
  openSignIn,
  stepUp,
  wrongCode,
} from '#tests/support/factor.ts'
import { Authenticator } from '#tests/support/authenticator.ts'
import { addPasskey, newPasskeyOptions, newPasskeyUser, ORIGIN, signInOptions } from '#tests/support/passkey.ts'
import { mintSession } from '#tests/support/minted-session.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'
import { many } from './race.ts'

const service = useService()

const statusesOf = (answers: readonly Answer[]): Record<number, number> => {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

const statusOf = async (answer: Promise<Answer>): Promise<number> => (await answer).status

/** Uses a proof 100 times at the same time: in each of ten open sign-ins five times, and as a step-up in each of fifty sessions. */
async function useAHundredTimes(user: { email: string; id: string }, proof: object): Promise<Record<number, number>> {
  const open: string[] = []
  for (let at = 0; at < 10; at += 1) open.push(await openSignIn(service, user.email))
  const sessions = await many(50, () => mintSession(service.sql, { email: user.email }))
  const uses = [
    ...open.flatMap((token) => Array.from({ length: 5 }, () => () => finish(service, token, proof))),
    ...sessions.map(
      ({ token }) =>
        () =>
          stepUp(service, token, proof),
    ),
  ]
  const answers = await Promise.all(uses.map((use) => use()))
  return statusesOf(answers)
}

/**
 * Expects one success. The others are refused, come to an open sign-in or a session that the success has ended, or waited too long
 * for the user's row on a slow machine: 503, and nothing was looked at.
 */
function expectOne(statuses: Record<number, number>): void {
  const { 200: succeeded, ...others } = statuses
  expect(succeeded).toBe(1)
  for (const status of Object.keys(others)) expect(['400', '401', '422', '503']).toContain(status)
}

describe('at the same time', () => {
  it('a hundred uses of one code of an app prove one', async () => {
    const user = await newFactorUser(service)
    expectOne(await useAHundredTimes(user, { code: codeNow(user.secret) }))
  })

  it('a hundred uses of one recovery code prove one', async () => {
    const user = await newFactorUser(service)
    expectOne(await useAHundredTimes(user, { recovery_code: user.recoveryCodes[0] }))
    const [left] = await service.sql`
      select count(*)::int as codes from app.tokens where user_id = ${user.id} and purpose = 'recovery_code' and expires_at > now()`
    expect(left).toEqual({ codes: 9 })
  })

  it('a hundred uses of one challenge of a passkey sign in once, and add one passkey', async () => {
    const user = await newPasskeyUser(service, { synced: true })
    const credential = user.authenticator.get(await signInOptions(service))
    const answers = await many(100, () => service.request('POST /v1/auth/login/passkey', { body: { credential } }))
    expectOne(statusesOf(answers))
    const { challenge } = await newPasskeyOptions(service, user.token)
    const added = await many(100, () => {
      const made = new Authenticator({ origin: ORIGIN }).create({ challenge })
      return addPasskey(service, user.token, { credential: made })
    })
    expect(statusesOf(added)[200]).toBe(1)
    expect(await service.sql`select from app.factors where user_id = ${user.id} and kind = 'passkey'`).toHaveLength(2)
  })

  it('a hundred uses of one answer to the challenge of an open sign-in finish it once', async () => {
    const user = await newPasskeyUser(service, { synced: true })
    const token = await openSignIn(service, user.email)
    const credential = user.authenticator.get(await signInOptions(service, token))
    const answers = await many(100, () => finish(service, token, { credential }))
    expect(statusesOf(answers)[200]).toBe(1)
  })

  it('a hundred guesses at one open sign-in see the secret of the app five times', async () => {
    const user = await newFactorUser(service)
    const token = await openSignIn(service, user.email)
    const answers = await many(100, () => finish(service, token, { code: wrongCode(user.secret) }))
    expect(statusesOf(answers)).toMatchObject({ 422: 5 })
    const [app] = await service.sql`select wrong_codes from app.factors where user_id = ${user.id}`
    expect(app).toEqual({ wrong_codes: 5 })
  })

  it('a hundred uses of one draft and one setup code add one app', async () => {
    const user = await newUser(service)
    await service.sql`delete from app.rate_limits`
    const { secret } = (await newDraft(service, user.token)).body
    const setupCode = await mailedSetupCode(service, user)
    const body = { code: codeNow(secret), setup_code: setupCode }
    const answers = await many(100, () => service.request('POST /v1/auth/factors/totp', { token: user.token, body }))
    expect(statusesOf(answers)[200]).toBe(1)
    // The token of the session is another one now, or the draft is used, or the first factor is there.
    for (const { status } of answers) expect([200, 401, 403, 409, 422, 503]).toContain(status)
    expect(await service.sql`select from app.factors where user_id = ${user.id}`).toHaveLength(1)
    const codes = await service.sql`select from app.tokens where user_id = ${user.id} and purpose = 'recovery_code'`
    expect(codes).toHaveLength(10)
  })

  it('sign-ins beside a first factor leave no live session without a second factor', async () => {
    for (let round = 0; round < 8; round += 1) {
      const user = await newUser(service)
      const { secret } = (await newDraft(service, user.token)).body
      const setupCode = await mailedSetupCode(service, user)
      const adding = service.request('POST /v1/auth/factors/totp', {
        token: user.token,
        body: { code: codeNow(secret), setup_code: setupCode },
      })
      const answers = await Promise.all([...Array.from({ length: 10 }, () => login(service, user.email)), adding])
      expect(statusesOf(answers)).toEqual({ 200: 11 })
      const without = await service.sql`
        select from app.sessions where user_id = ${user.id} and revoked_at is null and second_factor_at is null`
      expect(without).toHaveLength(0)
    }
  })

  it('a removal of the app and sign-ins that finish do not deadlock', async () => {
    for (let round = 0; round < 8; round += 1) {
      const user = await newFactorUser(service)
      const open: string[] = []
      for (let at = 0; at < 4; at += 1) open.push(await openSignIn(service, user.email))
      const [removed, ...finished] = await Promise.all([
        service.request(`DELETE /v1/auth/factors/${user.factorId}`, { token: user.token }),
        ...open.map((token, at) =>
          finish(service, token, { recovery_code: user.recoveryCodes[at] }, at === 0 ? user.token : undefined),
        ),
      ])
      // The finished sign-in that carries the session's token may have ended it before.
      expect([204, 401]).toContain(removed?.status)
      for (const { status } of finished) expect([200, 400, 422]).toContain(status)
    }
  })

  it('a reset, its cancellation, a sign-in and a step-up end in one outcome: it is cancelled and nothing is gone, or done and nothing is left', async () => {
    const outcomes = new Set<string>()
    for (let round = 0; round < 12; round += 1) {
      const user = await newFactorUser(service)
      const [reset] = await service.sql`
        insert into app.factor_resets (user_id, effective_at) values (${user.id}, now()) returning id`
      await service.sql`select app.announce_reset(r) from app.factor_resets r where r.id = ${reset?.['id']}`
      const link = await service.mail.tokenFor(user.email)
      const open = await openSignIn(service, user.email)
      const racers = [
        () => resetFactors(service.worker.database, () => false).then((done) => (done === 1 ? 200 : 0)),
        () => statusOf(service.request('POST /v1/auth/factor-resets/cancel', { body: { token: link } })),
        () => statusOf(finish(service, open, { recovery_code: user.recoveryCodes[0] })),
        () => statusOf(stepUp(service, user.token, { recovery_code: user.recoveryCodes[1] })),
      ]
      // Each begins first in some rounds.
      const order = racers.map((_, at) => (at + round) % racers.length)
      const statuses = new Map<number, number>()
      await Promise.all(order.map(async (at) => statuses.set(at, (await racers[at]?.()) ?? 0)))
      const [row] = await service.sql`
        select r.cancelled_at is not null as cancelled, r.done_at is not null as done, u.password_hash is not null as password,
               (select count(*)::int from app.factors f where f.user_id = u.id) as factors,
               (select count(*)::int from app.sessions s where s.user_id = u.id and s.revoked_at is null) as sessions
          from app.factor_resets r join app.users u on u.id = r.user_id where r.id = ${reset?.['id']}`
      const done = statuses.get(0) === 200
      expect(row).toEqual(
        done
          ? { cancelled: false, done: true, password: false, factors: 0, sessions: 0 }
          : { cancelled: true, done: false, password: true, factors: 1, sessions: expect.any(Number) },
      )
      for (const [at, refusals] of [
        [1, [400]],
        [2, [400]],
        [3, [401]],
      ] as const)
        expect(done ? refusals : [200, 204]).toContain(statuses.get(at))
      outcomes.add(done ? 'done' : 'cancelled')
    }
    expect(outcomes).toContain('cancelled')
  })
})
