import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { hashPassword } from '#shared/password/argon2.ts'
import { ipHashesIn } from '#tests/support/ip-hashes.ts'
import { createUser, createTenant, type MintedSession, mintSession } from '#tests/support/minted-session.ts'
import { whileRefused } from '#tests/support/refuse-writes.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const NEW_PASSWORD = 'a passphrase of the departed'

/** The tenants and sessions of one user. */
interface Setup {
  readonly email: string
  readonly user: string
  readonly tenants: { readonly here: string; readonly there: string; readonly left: string; readonly invited: string }
  readonly here: MintedSession
  readonly there: MintedSession
  readonly pending: MintedSession
}

const service = useService()
let passwordHash: string
let setup: Setup
let rounds = 0

beforeAll(async () => {
  passwordHash = await hashPassword(PASSWORD, { memoryKib: 64, iterations: 1 })
})
beforeEach(async () => {
  rounds += 1
  const slugs = ['here', 'there', 'left', 'invited'].map((name) => `${name}-${rounds}`)
  const [here = '', there = '', left = '', invited = ''] = await Promise.all(
    slugs.map((slug) => createTenant(service.sql, slug)),
  )
  const email = `person${rounds}@departed.test`
  const user = await createUser(service.sql, { email, role: 'viewer', slugs })
  await service.sql`update app.users set password_hash = ${passwordHash} where id = ${user}`
  await service.sql`update app.memberships set revoked_at = now() where user_id = ${user} and tenant_id = ${left}`
  await service.sql`update app.memberships set accepted_at = null where user_id = ${user} and tenant_id = ${invited}`
  const mint = (slug: string | null = null) => mintSession(service.sql, { email, slug })
  setup = {
    email,
    user,
    tenants: { here, there, left, invited },
    here: await mint(`here-${rounds}`),
    there: await mint(`there-${rounds}`),
    pending: await mint(),
  }
  // Expired sessions and another user's session must leave no entries.
  const [idle, over] = [await mint(`here-${rounds}`), await mint(`here-${rounds}`)]
  await service.sql`update app.sessions set idle_expires_at = now() where id = ${idle.id}`
  await service.sql`update app.sessions set absolute_expires_at = now() where id = ${over.id}`
  await mintSession(service.sql, { email: `founder@here-${rounds}.test`, slug: `here-${rounds}` })
})

const isLive = async ({ token }: MintedSession): Promise<boolean> =>
  (await service.request('GET /v1/auth/session', { token })).status === 200

/** Returns the audit entries of all tenants of the setup. */
const logs = () => service.sql`
  select tenant_id, action, actor_user_id as actor, target_type || ' ' || target_id as target, before, after, request_id, client_request_id,
         encode(ip_hash, 'hex') as ip_hash, xmin::text as written_in
    from app.audit_log where tenant_id = any (${Object.values(setup.tenants)}) order by action, tenant_id, target_id`

/** Sends a request that ends sessions, and expects exactly these audit entries. */
async function expectEntries(
  { route, token, body }: { route: string; token?: string; body?: object },
  expected: readonly (readonly [tenant: 'here' | 'there', action: string, target: string])[],
): Promise<void> {
  const clientRequestId = randomUUID()
  const answer = await service.request(route, { token, body, headers: { 'x-request-id': clientRequestId } })
  expect(answer.status).toBe(204)
  const written = await logs()
  const { tenants, user } = setup
  expect(written.map(({ tenant_id, action, target }) => `${tenant_id} ${action} ${target}`).toSorted()).toEqual(
    expected.map(([tenant, action, target]) => `${tenants[tenant]} ${action} ${target}`).toSorted(),
  )
  // One transaction writes the change and its entries.
  const changed = await service.sql`
    select xmin::text as written_in from app.sessions where user_id = ${user} and revoked_at is not null
    union select xmin::text from app.users where id = ${user} and password_hash <> ${passwordHash}`
  for (const entry of written) {
    expect(entry).toMatchObject({ actor: user, before: null, after: null, client_request_id: clientRequestId })
    expect(entry['request_id']).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
    expect(ipHashesIn(entry['tenant_id'])).toContain(entry['ip_hash'])
    expect(changed.map((row) => row['written_in'])).toEqual([entry['written_in']])
  }
}

describe('audit entries of ended sessions', () => {
  it('records a logout', async () => {
    const { here } = setup
    await expectEntries({ route: 'DELETE /v1/auth/session', token: here.token }, [
      ['here', 'session.signed_out', `session ${here.id}`],
    ])
  })

  it('records a revoked session in the tenant where it acted', async () => {
    const { here, there } = setup
    await expectEntries({ route: `DELETE /v1/auth/sessions/${there.id}`, token: here.token }, [
      ['there', 'session.revoked', `session ${there.id}`],
    ])
  })

  it('records every other revoked session in the log of its own tenant', async () => {
    const { here, there, pending } = setup
    const second = await mintSession(service.sql, { email: setup.email, slug: `here-${rounds}` })
    await expectEntries({ route: 'DELETE /v1/auth/sessions', token: pending.token }, [
      ['here', 'session.revoked', `session ${here.id}`],
      ['here', 'session.revoked', `session ${second.id}`],
      ['there', 'session.revoked', `session ${there.id}`],
    ])
  })

  it('records a password change in every tenant of the user', async () => {
    const { here, there, user } = setup
    await expectEntries(
      {
        route: 'POST /v1/auth/password/change',
        token: here.token,
        body: { current_password: PASSWORD, new_password: NEW_PASSWORD },
      },
      [
        ['there', 'session.revoked', `session ${there.id}`],
        ['here', 'user.password_changed', `user ${user}`],
        ['there', 'user.password_changed', `user ${user}`],
      ],
    )
    expect(await isLive(here)).toBe(true)
  })

  it('records a password reset and the sessions that it ended', async () => {
    const { email, here, there, user } = setup
    await service.request('POST /v1/auth/password/forgot', { body: { email } })
    const token = await service.mail.tokenFor(email)
    await expectEntries({ route: 'POST /v1/auth/password/reset', body: { token, password: NEW_PASSWORD } }, [
      ['here', 'session.revoked', `session ${here.id}`],
      ['there', 'session.revoked', `session ${there.id}`],
      ['here', 'user.password_reset', `user ${user}`],
      ['there', 'user.password_reset', `user ${user}`],
    ])
    // The link works once.
    await service.request('POST /v1/auth/password/reset', { body: { token, password: NEW_PASSWORD } })
    expect(await logs()).toHaveLength(4)
  })

  it('records nothing for a session without a tenant', async () => {
    await expectEntries({ route: 'DELETE /v1/auth/session', token: setup.pending.token }, [])
  })

  it('records nothing for refused requests', async () => {
    const { here, there, pending } = setup
    const colleague = await mintSession(service.sql, { email: `founder@here-${rounds}.test`, slug: `here-${rounds}` })
    const wrong = { current_password: `not ${PASSWORD}`, new_password: NEW_PASSWORD }
    for (const [route, token, body] of [
      [`DELETE /v1/auth/sessions/${there.id}`, colleague.token],
      [`DELETE /v1/auth/sessions/${randomUUID()}`, here.token],
      ['POST /v1/auth/password/change', pending.token, wrong],
      ['POST /v1/auth/password/reset', undefined, { token: 'x'.repeat(43), password: NEW_PASSWORD }],
    ] as const) {
      expect((await service.request(route, { token, body })).status, route).toBeGreaterThan(399)
    }
    expect(await logs()).toEqual([])
  })
})

describe('one transaction for an ended session and its audit entry', () => {
  const changePassword = () => ({
    route: 'POST /v1/auth/password/change',
    body: { current_password: PASSWORD, new_password: NEW_PASSWORD },
  })

  it('keeps sessions alive when their audit entry cannot be written', async () => {
    const { here, there } = setup
    await whileRefused(service.sql, ['app.audit_log'], async () => {
      for (const { route, body } of [
        { route: 'DELETE /v1/auth/session', body: undefined },
        { route: `DELETE /v1/auth/sessions/${there.id}`, body: undefined },
        { route: 'DELETE /v1/auth/sessions', body: undefined },
        changePassword(),
      ]) {
        expect((await service.request(route, { token: here.token, body })).status, route).toBe(500)
      }
    })
    for (const session of [here, there, setup.pending]) expect(await isLive(session)).toBe(true)
    const login = await service.request('POST /v1/auth/login', { body: { email: setup.email, password: PASSWORD } })
    expect(login.status).toBe(200)
    expect(await logs()).toEqual([])
  })

  it('writes no audit entry when the password change is rolled back', async () => {
    const { here, there } = setup
    await whileRefused(service.sql, ['app.jobs'], async () => {
      const { route, body } = changePassword()
      expect((await service.request(route, { token: here.token, body })).status).toBe(500)
    })
    expect(await isLive(there)).toBe(true)
    expect(await logs()).toEqual([])
    const { route, body } = changePassword()
    expect((await service.request(route, { token: here.token, body })).status).toBe(204)
    expect(await logs()).toHaveLength(3)
  })
})
