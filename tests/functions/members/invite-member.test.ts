import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { group } from '#functions/api/members/group.ts'
import { hashToken } from '#shared/secret/secret.ts'
import { startCounted } from '#tests/support/counted.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { expectContract, expectProblem } from '#tests/support/expect-answer.ts'
import { createMember, createUser, type TestMember } from '#tests/support/minted-session.ts'
import { inOneWindow } from '#tests/support/one-window.ts'
import { type Answer, PEPPER, startService } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const NEW_PASSWORD = 'a passphrase of the invited'

const service = useService({ env: { INVITE_TENANT_LIMIT: '1000' } })
let slug: string
let tenant: string
let owner: TestMember
let admin: TestMember

beforeEach(async () => {
  ;({ slug, id: tenant, owner, admin } = await service.newTenant('owner', 'admin'))
})

const invite = (email: string, role = 'sales', by = owner): Promise<Answer> =>
  service.request('POST /v1/members/invite', { token: by.token, body: { email, role } })
const act = (route: string, by = owner): Promise<Answer> => service.request(route, { token: by.token })
const open = (): Promise<Answer> => act('GET /v1/members/invitations')
const inspect = (token: string): Promise<Answer> =>
  service.request('POST /v1/auth/invitations/inspect', { body: { token } })
const accept = (token: string): Promise<Answer> =>
  service.request('POST /v1/auth/invitations/accept', { body: { token, password: NEW_PASSWORD } })
const membershipOf = async (email: string) => {
  const [row] = await service.sql`
    select m.id, m.accepted_at, m.revoked_at, m.invited_by, r.code as role
      from app.memberships m join app.users u on u.id = m.user_id join app.roles r on r.id = m.role_id
     where m.tenant_id = ${tenant} and u.email = ${email}`
  return row
}

describe('POST /v1/members/invite', () => {
  it('creates a token and an email for an invited address and returns nothing of the token', async () => {
    const email = `new@${slug}.test`
    const answer = await invite(email)
    expect(answer.status).toBe(200)
    expectContract(answer, tenant)
    expect(answer.body).toEqual({
      id: expect.any(String),
      email,
      role: 'sales',
      status: 'pending',
      invited_by: owner.userId,
      created_at: expect.any(String),
      expires_at: expect.any(String),
      bounced_at: null,
    })
    const days = (Date.parse(answer.body.expires_at) - Date.parse(answer.body.created_at)) / 86_400_000
    expect(days).toBeCloseTo(7, 3)
    expect(await service.sql`select from app.users where email = ${email}`).toHaveLength(0)
    expect(await membershipOf(email)).toBeUndefined()
    expect(service.invoked.slice(-2).toSorted()).toEqual(['deliver-mail', 'publish-events'])
    const raw = await service.mail.tokenFor(email)
    const [row] = await service.sql`select token_hash, tenant_id from app.tokens where id = ${answer.body.id}`
    expect(row).toEqual({ token_hash: hashToken(PEPPER, raw), tenant_id: tenant })
    for (const part of [raw, row?.['token_hash'].toString('hex'), row?.['token_hash'].toString('base64url')]) {
      expect(answer.text).not.toContain(part)
    }
  })

  it('creates an outstanding membership for an invited user, which grants no access', async () => {
    const email = `known@${slug}.test`
    await createUser(service.sql, { email })
    await invite(email.toUpperCase(), 'designer')
    expect(await membershipOf(email)).toMatchObject({
      accepted_at: null,
      revoked_at: null,
      role: 'designer',
      invited_by: owner.userId,
    })
  })

  it('rejects inviting a live member with 409, ignoring case, and changes nothing', async () => {
    const before = await membershipOf(`admin@${slug}.test`)
    for (const email of [`admin@${slug}.test`, `ADMIN@${slug}.TEST`]) {
      const answer = await invite(email)
      expectProblem(answer, 'already-member')
      expectContract(answer, tenant)
    }
    expect(await membershipOf(`admin@${slug}.test`)).toEqual(before)
    expect((await open()).body.data).toEqual([])
  })

  it('rejects an invitation to a role above the caller’s with 403 and to an unknown role with 422', async () => {
    expect((await invite(`a@${slug}.test`, 'owner', admin)).status).toBe(403)
    expect((await invite(`a@${slug}.test`, 'admin', admin)).status).toBe(200)
    for (const role of ['', 'Owner', 'OWNER', 'root', '1', '*', 'owner ', '__proto__']) {
      const answer = await invite(`b@${slug}.test`, role)
      expect(answer.status, role).toBe(422)
      expect(answer.body.errors[0].pointer, role).toBe('#/role')
    }
    expect((await open()).body.data).toHaveLength(1)
  })

  it('replaces the token of an open invitation when the address is invited again', async () => {
    const email = `again@${slug}.test`
    const first = await invite(email, 'sales')
    const old = await service.mail.tokenFor(email)
    expect((await inspect(old)).status).toBe(200)
    const second = await invite(`AGAIN@${slug}.test`, 'viewer', admin)
    expect(second.body).toMatchObject({ id: first.body.id, email, role: 'viewer', invited_by: admin.userId })
    const fresh = await service.mail.tokenFor(email)
    expect(fresh).not.toBe(old)
    for (const answer of [await inspect(old), await accept(old)]) {
      expectProblem(answer, 'token-invalid')
    }
    expect((await inspect(fresh)).body).toMatchObject({ role: 'viewer' })
    expect((await open()).body.data).toHaveLength(1)
  })

  it('keeps a revoked membership as it is until a new invitation is accepted, then revives it under its id', async () => {
    const email = `back@${slug}.test`
    const left = await createMember(service.sql, { email, role: 'sales', slug })
    await act(`DELETE /v1/members/${left.membershipId}`)
    await service.mail.deliver()
    const before = await membershipOf(email)
    const { body: first } = await invite(email, 'viewer')
    expect(await membershipOf(email)).toEqual(before)
    await act(`DELETE /v1/members/invitations/${first.id}`)
    expect(await membershipOf(email)).toEqual(before)
    await invite(email, 'viewer')
    const answer = await accept(await service.mail.tokenFor(email))
    expect(answer.status).toBe(200)
    const revived = await membershipOf(email)
    expect(revived).toMatchObject({ id: left.membershipId, revoked_at: null, role: 'viewer' })
    expect(revived?.['accepted_at'].getTime()).toBeGreaterThan(before?.['revoked_at'].getTime())
    // Earlier sessions stay ended.
    expect((await service.request('GET /v1/auth/session', { token: left.token })).status).toBe(401)
  })

  it('keeps an invitation to a higher rank when an admin tries to replace, resend or cancel it', async () => {
    const email = `partner@${slug}.test`
    const { body } = await invite(email, 'owner')
    const raw = await service.mail.tokenFor(email)
    expect((await invite(email, 'viewer', admin)).status).toBe(403)
    expect((await act(`POST /v1/members/invitations/${body.id}/resend`, admin)).status).toBe(403)
    expect((await act(`DELETE /v1/members/invitations/${body.id}`, admin)).status).toBe(403)
    expect((await inspect(raw)).body).toMatchObject({ role: 'owner' })
  })

  it('keeps invitations of the same address by two tenants independent', async () => {
    const email = `shared@${slug}.test`
    const first = await invite(email)
    const raw = await service.mail.tokenFor(email)
    const { slug: other, owner: boss } = await service.newTenant('owner')
    const second = await invite(email, 'viewer', boss)
    expect(second.status).toBe(200)
    expect(second.body.id).not.toBe(first.body.id)
    expect((await inspect(raw)).status).toBe(200)
    expect((await inspect(await service.mail.tokenFor(email))).body.tenant.slug).toBe(other)
  })

  it('limits invitations of a tenant per hour, also concurrent ones: returns 429, writes and sends nothing', async () => {
    const limited = await startService({ env: { INVITE_TENANT_LIMIT: '3' } })
    onTestFinished(() => limited.close())
    const { asked, resent, elsewhere, mailed } = await inOneWindow(3600, async () => {
      await limited.mail.deliver()
      const [shop, next] = [await limited.newTenant('owner'), await limited.newTenant('owner')]
      const ask = (index: number, { token } = shop.owner) =>
        limited.request('POST /v1/members/invite', { token, body: { email: `i${index}@limit.test`, role: 'viewer' } })
      const all = await Promise.all([0, 1, 2, 3, 4, 5].map((index) => ask(index)))
      const id = all.find(({ status }) => status === 200)?.body.id
      return {
        asked: all,
        resent: await limited.request(`POST /v1/members/invitations/${id}/resend`, { token: shop.owner.token }),
        mailed: await limited.mail.deliver(),
        elsewhere: await ask(0, next.owner),
      }
    })
    expect(asked.filter(({ status }) => status === 200)).toHaveLength(3)
    for (const refused of [...asked.filter(({ status }) => status !== 200), resent]) {
      expectProblem(refused, 'rate-limited')
      expect(refused.headers.get('x-tenant-id')).toMatch(/^[0-9a-f-]{36}$/)
      expect(refused.headers.get('ratelimit-policy')).toBe('"invite-tenant";q=3;w=3600')
      expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(3600)
    }
    expect(mailed).toBe(3)
    expect(elsewhere.status).toBe(200)
  })
})

describe('the mail of an invitation', () => {
  it('reaches a recipient five times a day from all tenants and to all tags, with the same response for more', async () => {
    const limited = await startService({ env: { INVITE_RECIPIENT_LIMIT: '5' } })
    onTestFinished(() => limited.close())
    const shops = [await limited.newTenant('owner'), await limited.newTenant('owner')]
    const sent: number[] = []
    for (let index = 0; index < 8; index += 1) {
      const body = { email: ['Bombed@else.test', `bombed+${index}@else.test`][index % 2], role: 'viewer' }
      const answer = await limited.request('POST /v1/members/invite', { token: shops[index % 2]?.owner.token, body })
      expect([answer.status, answer.body.status]).toEqual([200, 'pending'])
      sent.push(await limited.mail.deliver())
    }
    expect(sent).toEqual([1, 1, 1, 1, 1, 0, 0, 0])
    await limited.sql`update app.rate_limits set window_start = window_start - interval '2 days'`
    const body = { email: 'bombed@else.test', role: 'viewer' }
    await limited.request('POST /v1/members/invite', { token: shops[0]?.owner.token, body })
    expect(await limited.mail.deliver()).toBe(1)
  })

  it('is not sent again within ten minutes: returns 429, and the mailed link keeps working', async () => {
    const limited = await startService({ env: { INVITE_RESEND_SECONDS: '600' } })
    onTestFinished(() => limited.close())
    const { owner: boss } = await limited.newTenant('owner')
    const ask = (route: string, body?: object) => limited.request(route, { token: boss.token, body })
    const again = { email: 'guest@else.test', role: 'viewer' }
    const { body } = await ask('POST /v1/members/invite', again)
    const resend = () => ask(`POST /v1/members/invitations/${body.id}/resend`)
    const link = await limited.mail.tokenFor(again.email)
    for (const refused of [await ask('POST /v1/members/invite', again), await resend()]) {
      expectProblem(refused, 'rate-limited')
      expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(600)
      expect(refused.headers.get('ratelimit-policy')).toBe('"invite-resend";q=1;w=600')
    }
    expect(await limited.mail.deliver()).toBe(0)
    expect((await limited.request('POST /v1/auth/invitations/inspect', { body: { token: link } })).status).toBe(200)
    await limited.sql`update app.tokens set issued_at = issued_at - interval '10 minutes' where id = ${body.id}`
    expect((await resend()).status).toBe(200)
    expect((await resend()).status).toBe(429)
    expect(await limited.mail.deliver()).toBe(1)
  })
})

describe('open invitations', () => {
  it('lists pending and expired invitations, but not accepted or cancelled ones', async () => {
    const [first, second, third, fourth] = [
      await invite(`one@${slug}.test`),
      await invite(`two@${slug}.test`),
      await invite(`three@${slug}.test`),
      await invite(`four@${slug}.test`),
    ]
    expect((await accept(await service.mail.tokenFor(`two@${slug}.test`))).status).toBe(200)
    await act(`DELETE /v1/members/invitations/${third.body.id}`)
    await service.sql`update app.tokens set expires_at = now() where id = ${fourth.body.id}`
    const answer = await open()
    expectContract(answer, tenant)
    expect(answer.body.data.map(({ id, status }: Record<string, string>) => [id, status])).toEqual([
      [first.body.id, 'pending'],
      [fourth.body.id, 'expired'],
    ])
    expect(answer.body.data[0]).toEqual(first.body)
    expect(second.body.id).not.toBe(first.body.id)
  })

  it('pages through invitations, each exactly once, even when created at the same time', async () => {
    await Promise.all([0, 1, 2, 3, 4].map((index) => invite(`page${index}@${slug}.test`)))
    await service.sql`update app.tokens set created_at = '2026-01-02T03:04:05.678912Z' where tenant_id = ${tenant}`
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page: Answer = await act(`GET /v1/members/invitations?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`)
      seen.push(...page.body.data.map(({ id }: { id: string }) => id))
      expect(seen.length).toBeLessThanOrEqual(5)
      cursor = page.body.next_cursor
    } while (cursor !== null)
    expect(seen).toEqual(seen.toSorted())
    expect(new Set(seen).size).toBe(5)
  })

  it('resends an invitation under the same id with a new token and expiry', async () => {
    const email = `resent@${slug}.test`
    const { body } = await invite(email)
    const old = await service.mail.tokenFor(email)
    await service.sql`update app.tokens set expires_at = now() where id = ${body.id}`
    const answer = await act(`POST /v1/members/invitations/${body.id}/resend`, admin)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ id: body.id, email, role: 'sales', status: 'pending' })
    expect(Date.parse(answer.body.expires_at)).toBeGreaterThan(Date.now() + 6 * 86_400_000)
    const fresh = await service.mail.tokenFor(email)
    expect((await inspect(old)).status).toBe(400)
    expect((await inspect(fresh)).status).toBe(200)
  })

  it('cancels an invitation: its token and outstanding membership end, and it is gone', async () => {
    const email = `cancelled@${slug}.test`
    await createUser(service.sql, { email })
    const { body } = await invite(email)
    const raw = await service.mail.tokenFor(email)
    const answer = await act(`DELETE /v1/members/invitations/${body.id}`)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ ...body, status: 'cancelled' })
    expect((await inspect(raw)).status).toBe(400)
    expect((await accept(raw)).status).toBe(400)
    expect(await membershipOf(email)).toBeUndefined()
    for (const route of ['DELETE /v1/members/invitations/', 'POST /v1/members/invitations/']) {
      const gone = await act(`${route}${body.id}${route.startsWith('POST') ? '/resend' : ''}`)
      expect(gone.status).toBe(404)
    }
  })

  it('returns 404 when an accepted invitation is resent or cancelled', async () => {
    const email = `taken@${slug}.test`
    const { body } = await invite(email)
    await accept(await service.mail.tokenFor(email))
    expect((await act(`POST /v1/members/invitations/${body.id}/resend`)).status).toBe(404)
    expect((await act(`DELETE /v1/members/invitations/${body.id}`)).status).toBe(404)
  })
})

describe('the cost of an invitation', () => {
  it('is two statements: the check of the session, and a call that counts the limits and is the whole transaction', async () => {
    const counted = await startCounted(service.database, group)
    onTestFinished(() => counted.close())
    const costOf = async (name: string) => {
      const headers = { authorization: `Bearer ${owner.token}` }
      const body = { email: `${name}@${slug}.test`, role: 'sales' }
      return (await counted.ask(gatewayEvent({ route: 'POST /v1/members/invite', headers, body }))).cost
    }
    await costOf('warming')
    expect(await costOf('counted')).toEqual({ statements: 2, roundTrips: 2, cache: 0, invoked: 2, started: 2 })
  })
})

describe('an invited person', () => {
  it('gets the same responses and audit entries, at the same cost, with an account, disabled, or without', async () => {
    const counted = await startCounted(service.database, group, { INVITE_RESEND_SECONDS: '0' })
    onTestFinished(() => counted.close())

    /** Invites an address, acts on the invitation in every way, and returns all that the tenant sees. */
    async function transcript(kind: string): Promise<string[]> {
      const shop = await service.newTenant('admin')
      const email = `${kind}@invited.test`
      const seen: unknown[] = []
      const ask = async (
        route: string,
        request: { id?: string; query?: Record<string, string>; body?: object } = {},
      ) => {
        const { id, query = {}, body } = request
        const headers = { authorization: `Bearer ${shop.admin.token}` }
        const params = id === undefined ? {} : { params: { id } }
        const answer = await counted.ask(gatewayEvent({ route, headers, query, body, ...params }))
        seen.push(route, answer)
        return answer.body
      }
      const look = async (): Promise<void> => {
        for (const [name, value] of [
          ['status', 'invited,revoked'],
          ['q', email],
          ['q', 'Person'],
          ['limit', '1'],
        ] as const)
          await ask('GET /v1/members', { query: { [name]: value } })
        await ask('GET /v1/members/invitations')
        seen.push((await service.request('GET /v1/audit-log', { token: shop.admin.token })).body)
      }
      const invited = (role: string) => ask('POST /v1/members/invite', { body: { email, role } })
      const { id } = await invited('sales')
      await look()
      await invited('designer')
      for (const role of ['viewer', 'viewer', 'owner', 'nothing'])
        await ask('PATCH /v1/members/{id}', { id, body: { role } })
      await ask('POST /v1/members/invitations/{id}/resend', { id })
      await look()
      await ask('DELETE /v1/members/{id}', { id })
      await ask('DELETE /v1/members/{id}', { id })
      await ask('PATCH /v1/members/{id}', { id, body: { role: 'viewer' } })
      const { id: other } = await invited('sales')
      await ask('DELETE /v1/members/invitations/{id}', { id: other })
      await look()
      expect(
        await service.sql`
        select from app.memberships m join app.users u on u.id = m.user_id where u.email = ${email}`,
      ).toHaveLength(0)

      const ids = new Map<string, string>()
      const named = (uuid: string): string => ids.get(uuid) ?? ids.set(uuid, `id ${ids.size + 1}`).get(uuid) ?? ''
      return seen.map((part) =>
        JSON.stringify(part)
          .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, named)
          .replaceAll(/"\d{4}-\d\d-\d\dT[^"]+"|"[0-9a-f]{64}"|"[\w-]{60,}"/g, '"…"')
          .replaceAll(kind, 'kind')
          .replaceAll(shop.slug, 'slug'),
      )
    }

    // The list is in the order of the addresses, so all of them follow the members.
    await createUser(service.sql, { email: 'with-account@invited.test' })
    await createUser(service.sql, { email: 'stopped@invited.test' })
    await service.sql`update app.users set disabled_at = now() where email = 'stopped@invited.test'`
    // The first run prepares the statements.
    await transcript('warming')
    const unknown = await transcript('stranger')
    expect(unknown.join()).not.toMatch(/"status":5\d\d/)
    expect(await transcript('with-account')).toEqual(unknown)
    expect(await transcript('stopped')).toEqual(unknown)
  })

  it('is listed as a member created at the acceptance, whether or not there was an account', async () => {
    const created: boolean[] = []
    for (const [kind, prepare] of [
      ['account', (email: string) => createUser(service.sql, { email })],
      ['unknown', async () => ''],
    ] as const) {
      const email = `${kind}@${slug}.test`
      await prepare(email)
      const { body } = await invite(email)
      await accept(await service.mail.tokenFor(email))
      const { data } = (await act(`GET /v1/members?q=${email}`)).body
      expect(data).toHaveLength(1)
      expect(data[0].user.id).not.toBeNull()
      created.push(data[0].created_at === data[0].accepted_at && data[0].created_at > body.created_at)
    }
    expect(created).toEqual([true, true])
  })
})
