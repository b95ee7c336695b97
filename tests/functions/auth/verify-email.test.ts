import { beforeEach, describe, expect, it } from 'vitest'
import { newToken } from '#shared/secret/secret.ts'
import { expectContract, expectProblem, indistinguishable } from '#tests/support/expect-answer.ts'
import { createMember, tenantId } from '#tests/support/minted-session.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const NEW_PASSWORD = 'a passphrase of the matrix'

const service = useService({ env: { FORGOT_EMAIL_LIMIT: '3', FORGOT_IP_LIMIT: '1000000' } })
let people = 0
let email: string
let person: Awaited<ReturnType<typeof createMember>>

beforeEach(async () => {
  people += 1
  email = `person${people}@verify.test`
  person = await createMember(service.sql, { email, slug: 'acme-print' })
})

const resend = (): Promise<Answer> => service.request('POST /v1/auth/verify/resend', { token: person.token })
const verify = (token: string): Promise<Answer> => service.request('POST /v1/auth/verify', { body: { token } })
const verifiedAt = async () =>
  (await service.sql`select email_verified_at from app.users where id = ${person.userId}`)[0]?.['email_verified_at']
async function verification(): Promise<string> {
  await resend()
  return service.mail.tokenFor(email)
}

describe('POST /v1/auth/verify', () => {
  it('verifies an address once: the second use returns 204 and changes nothing', async () => {
    const token = await verification()
    expect(await verifiedAt()).toBeNull()
    const answer = await verify(token)
    expect(answer.status).toBe(204)
    expectContract(answer, null)
    const first = await verifiedAt()
    expect(first).toBeInstanceOf(Date)
    expect((await verify(token)).status).toBe(204)
    expect(await verifiedAt()).toEqual(first)
    const { body } = await service.request('GET /v1/auth/session', { token: person.token })
    expect(Date.parse(body.user.email_verified_at)).toBe(first.getTime())
  })

  it('keeps the first verification time when a second link is used', async () => {
    const [first, second] = [await verification(), await verification()]
    await verify(first)
    const at = await verifiedAt()
    expect((await verify(second)).status).toBe(204)
    expect(await verifiedAt()).toEqual(at)
  })

  it('returns the same 400 for an unknown, expired or malformed verification token', async () => {
    const expired = await verification()
    await service.sql`update app.tokens set expires_at = now() where user_id = ${person.userId}`
    const answers = new Set<string>()
    for (const token of [newToken(), expired, person.token, '', 'x', 'x'.repeat(44), `${expired} `]) {
      const answer = await verify(token)
      expectProblem(answer, 'token-invalid')
      expectContract(answer, null)
      answers.add(JSON.stringify(indistinguishable(answer)))
    }
    expect(answers.size).toBe(1)
    expect(await verifiedAt()).toBeNull()
  })
})

describe('POST /v1/auth/verify/resend', () => {
  it('sends a verification email whose link is valid for 24 hours', async () => {
    const answer = await resend()
    expect(answer.status).toBe(204)
    expectContract(answer, await tenantId(service.sql, 'acme-print'))
    expect(await service.mail.deliver()).toBe(1)
    const [row] = await service.sql`
      select expires_at - now() > interval '23 hours 59 minutes' and expires_at - now() <= interval '24 hours' as day
        from app.tokens where user_id = ${person.userId} and purpose = 'email_verify'`
    expect(row?.['day']).toBe(true)
  })

  it('returns 204 and sends nothing when the address is already verified', async () => {
    await service.sql`update app.users set email_verified_at = now() where id = ${person.userId}`
    expect((await resend()).status).toBe(204)
    expect(await service.mail.deliver()).toBe(0)
  })

  it('sends no verification email when the address was verified before delivery', async () => {
    await resend()
    await service.sql`update app.users set email_verified_at = now() where id = ${person.userId}`
    expect(await service.mail.deliver()).toBe(0)
  })

  it('returns 204 and sends nothing over the limit of verification emails', async () => {
    const answers: unknown[] = []
    for (let index = 0; index < 5; index += 1) answers.push(indistinguishable(await resend()))
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(await service.mail.deliver()).toBe(3)
  })
})

describe('POST /v1/auth/verify/inspect', () => {
  const inspect = (token: string) => service.request('POST /v1/auth/verify/inspect', { body: { token } })

  it('names the address of an open verification each time, and consumes nothing', async () => {
    const token = await verification()
    const before = await service.sql`select * from app.tokens order by id`
    for (let round = 0; round < 2; round += 1) {
      const answer = await inspect(token)
      expect([answer.status, answer.body]).toEqual([200, { email }])
      expectContract(answer, null)
    }
    expect(await service.sql`select * from app.tokens order by id`).toEqual(before)
    expect(await verifiedAt()).toBeNull()
  })

  it('returns the same 400 for a token that is unknown, malformed, expired, consumed or for a password', async () => {
    const [used, late] = [await verification(), await verification()]
    await verify(used)
    await service.sql`update app.tokens set expires_at = now() where user_id = ${person.userId} and consumed_at is null`
    await service.request('POST /v1/auth/password/forgot', { body: { email } })
    for (const token of [used, late, await service.mail.tokenFor(email), newToken(), 'malformed', `${late}x`])
      expectProblem(await inspect(token), 'token-invalid')
  })
})

describe('single-use tokens', () => {
  const ROUTES = {
    invite: 'POST /v1/auth/invitations/accept',
    password_reset: 'POST /v1/auth/password/reset',
    email_verify: 'POST /v1/auth/verify',
  }
  type Purpose = keyof typeof ROUTES
  const isPurpose = (text: string): text is Purpose => text in ROUTES
  const purposes = Object.keys(ROUTES).filter(isPurpose)
  const pairs = purposes.flatMap((purpose) => purposes.map((use) => ({ purpose, use })))

  const issue: Record<Purpose, () => Promise<string>> = {
    invite: async () => {
      const to = `invited${people}@verify.test`
      await service.request('POST /v1/members/invite', { token: person.token, body: { email: to, role: 'viewer' } })
      return service.mail.tokenFor(to)
    },
    password_reset: async () => {
      await service.request('POST /v1/auth/password/forgot', { body: { email } })
      return service.mail.tokenFor(email)
    },
    email_verify: verification,
  }

  it.each(pairs)('accepts a token for $purpose as $use only if the purposes match', async ({ purpose, use }) => {
    const token = await issue[purpose]()
    const send = (route: string) => service.request(route, { body: { token, password: NEW_PASSWORD } })
    const before = await service.sql`select * from app.tokens order by id`
    const answer = await send(ROUTES[use])
    if (purpose === use) expect(answer.status).toBe(use === 'invite' ? 200 : 204)
    else {
      expectProblem(answer, 'token-invalid')
      expect(await service.sql`select * from app.tokens order by id`).toEqual(before)
      expect(await verifiedAt()).toBeNull()
      // The attempt did not consume the token.
      expect((await send(ROUTES[purpose])).status).toBeLessThan(300)
    }
    // A consumed token is not valid for other purposes either.
    for (const other of purposes.filter((name) => name !== purpose)) {
      expect((await send(ROUTES[other])).status, other).toBe(400)
    }
  })

  it.each(purposes)('rejects a token for %s as a session token', async (purpose) => {
    const token = await issue[purpose]()
    expect((await service.request('GET /v1/auth/session', { token })).status).toBe(401)
  })
})
