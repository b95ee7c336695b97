import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { auditFailedSignIns } from '#functions/workers/audit-sign-ins/audit-sign-ins.ts'
import { expectContract } from '#tests/support/expect-answer.ts'
import { ipHashesIn } from '#tests/support/ip-hashes.ts'
import { createMember, mintSession, type TestMember } from '#tests/support/minted-session.ts'
import { type Answer, PASSWORD } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const NEW_PASSWORD = 'a passphrase of the audited'

interface Entry {
  readonly id: string
  readonly occurred_at: string
  readonly action: string
  readonly actor: { id: string; email: string; full_name: string } | null
  readonly target: { type: string; id: string }
  readonly before: object | null
  readonly after: object | null
  readonly request_id: string
  readonly client_request_id: string | null
  readonly ip_hash: string
}

const service = useService({ env: { INVITE_TENANT_LIMIT: '1000' } })
let slug: string
let tenant: string
let owner: TestMember
let sales: TestMember

beforeEach(async () => {
  ;({ slug, id: tenant, owner, sales } = await service.newTenant('owner', 'sales'))
})

const list = (query = '', by = owner): Promise<Answer> =>
  service.request(`GET /v1/audit-log${query}`, { token: by.token })
const entries = async (query = ''): Promise<Entry[]> => (await list(query)).body.data
/** Inserts one entry for each of these times. */
async function plant(times: readonly string[]): Promise<void> {
  for (const time of times) {
    await service.sql`
      insert into app.audit_log (tenant_id, occurred_at, actor_user_id, action, target_type, request_id)
      values (${tenant}, ${time}::text::timestamptz, ${owner.userId}, 'session.tenant_selected', 'session', ${`planted-${slug}`})`
  }
}

describe('GET /v1/audit-log', () => {
  it('records who changed what, from which value to which, by which request and address', async () => {
    // Nothing prevents a client from sending one id twice.
    const clientRequestId = `repeated-${slug}`
    const email = `new@${slug}.test`
    const act = async (route: string, body?: object, token: string | undefined = owner.token) => {
      const answer = await service.request(route, { token, body, headers: { 'x-request-id': clientRequestId } })
      expect(answer.status, route).toBeLessThan(300)
      return answer
    }
    const created = await act('POST /v1/members/invite', { email, role: 'sales' })
    const invitation = created.body.id
    await act('POST /v1/members/invite', { email, role: 'designer' })
    await act(`POST /v1/members/invitations/${invitation}/resend`)
    const token = await service.mail.tokenFor(email)
    await act('POST /v1/auth/invitations/accept', { token, password: NEW_PASSWORD })
    const [member] = await service.sql`
      select m.id, m.user_id from app.memberships m join app.users u on u.id = m.user_id where u.email = ${email}`
    await act(`PATCH /v1/members/${member?.['id']}`, { role: 'viewer' })
    const pending = await mintSession(service.sql, { email })
    await act(`POST /v1/auth/tenants/${tenant}/select`, undefined, pending.token)
    await act(`DELETE /v1/members/${member?.['id']}`)
    const other = await act('POST /v1/members/invite', { email: `other@${slug}.test`, role: 'viewer' })
    await act(`DELETE /v1/members/invitations/${other.body.id}`)

    const [ownerId, newId] = [owner.userId, member?.['user_id']]
    const membership = { type: 'membership', id: member?.['id'] }
    const invited = { type: 'invitation', id: invitation }
    const expected = [
      ['invitation.created', ownerId, invited, null, { email, role: 'sales' }],
      ['invitation.replaced', ownerId, invited, null, { email, role: 'designer' }],
      ['invitation.resent', ownerId, invited, null, null],
      ['membership.accepted', newId, membership, null, { role: 'designer' }],
      ['membership.role_changed', ownerId, membership, { role: 'designer' }, { role: 'viewer' }],
      ['session.tenant_selected', newId, { type: 'session', id: pending.id }, null, null],
      ['membership.revoked', ownerId, membership, { role: 'viewer' }, null],
      [
        'invitation.created',
        ownerId,
        { type: 'invitation', id: other.body.id },
        null,
        { email: `other@${slug}.test`, role: 'viewer' },
      ],
      [
        'invitation.cancelled',
        ownerId,
        { type: 'invitation', id: other.body.id },
        { email: `other@${slug}.test`, role: 'viewer' },
        null,
      ],
    ] as const
    const answer = await list()
    expectContract(answer, tenant)
    const written: Entry[] = answer.body.data.toReversed()
    expect(written).toHaveLength(expected.length)
    expect(new Set(written.map(({ request_id }) => request_id)).size).toBe(expected.length)
    for (const [index, [action, actor, target, before, after]] of expected.entries()) {
      const entry = written[index]
      expect(entry, action).toEqual({
        id: expect.any(String),
        occurred_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        action,
        actor: { id: actor, email: expect.any(String), full_name: actor === newId ? null : expect.any(String) },
        target,
        before,
        after,
        request_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f-]{27}$/),
        client_request_id: clientRequestId,
        ip_hash: expect.any(String),
      })
      expect(ipHashesIn(tenant), action).toContain(entry?.ip_hash)
    }
    expect(answer.text).not.toContain(token)
  })

  it('records failed logins of members, but not of others', async () => {
    const attempt = (email: string) =>
      service.request('POST /v1/auth/login', { body: { email, password: `not ${PASSWORD}` } })
    await attempt(`sales@${slug}.test`)
    await attempt(`nobody@${slug}.test`)
    await auditFailedSignIns(service.worker.database.sql, () => false)
    const failed = await entries('?action=session.sign_in_failed')
    expect(failed).toMatchObject([{ actor: null, target: { type: 'user', id: sales.userId } }])
    expect(ipHashesIn(tenant)).toContain(failed[0]?.ip_hash)
  })

  it('records nothing for refused changes', async () => {
    for (const [route, body] of [
      [`PATCH /v1/members/${owner.membershipId}`, { role: 'nothing' }],
      [`PATCH /v1/members/${randomUUID()}`, { role: 'viewer' }],
      ['POST /v1/members/invite', { email: `sales@${slug}.test`, role: 'viewer' }],
      ['POST /v1/auth/invitations/accept', { token: 'x'.repeat(43), password: NEW_PASSWORD }],
    ] as const) {
      expect((await service.request(route, { token: owner.token, body })).status).toBeGreaterThan(399)
    }
    expect(await entries()).toEqual([])
  })

  it('allows only owners and admins to read the audit log', async () => {
    for (const [role, status] of [
      ['owner', 200],
      ['admin', 200],
      ['sales', 403],
      ['account', 403],
      ['designer', 403],
      ['production', 403],
      ['viewer', 403],
    ] as const) {
      const by = await createMember(service.sql, { email: `reader-${role}@${slug}.test`, role, slug })
      expect((await list('', by)).status, role).toBe(status)
    }
  })

  it('lists no entry of another tenant, whatever the query', async () => {
    const before = { tenant, owner }
    await plant(['2026-05-01T00:00:00Z', '2026-05-02T00:00:00Z'])
    const { next_cursor: cursor } = (await list('?limit=1')).body
    const actor = owner.userId
    ;({ slug, id: tenant, owner } = await service.newTenant('owner'))
    for (const query of ['', `?actor=${actor}`, `?cursor=${cursor}`, '?action=session.tenant_selected', '?limit=100']) {
      expect(await entries(query), query).toEqual([])
    }
    expect((await list('', before.owner)).body.data).toHaveLength(2)
  })

  it('filters by actor, action and time, alone and combined', async () => {
    await plant(['2026-05-01T00:00:00Z', '2026-05-02T00:00:00.000001Z', '2026-05-03T00:00:00Z'])
    await service.request(`PATCH /v1/members/${sales.membershipId}`, { token: owner.token, body: { role: 'viewer' } })
    const times = async (query: string) => (await entries(query)).map(({ occurred_at }) => occurred_at.slice(0, 10))
    expect(await times('?to=2026-05-03T00:00:00Z')).toEqual(['2026-05-02', '2026-05-01'])
    expect(await times('?from=2026-05-02T00:00:00Z&to=2026-05-04T00:00:00Z')).toEqual(['2026-05-03', '2026-05-02'])
    expect(await times('?from=2026-05-02T00:00:00.000001Z&to=2026-05-02T00:00:00.000002Z')).toEqual(['2026-05-02'])
    expect(await times('?from=2026-05-02T02:00:00%2B02:00&to=2026-05-03T00:00:00Z')).toEqual(['2026-05-02'])
    // Any number of digits, either case, any offset, and a leap second (RFC 3339, 5.6). Postgres alone would round.
    for (const search of [
      '?from=2026-05-02T00:00:00.0000000Z&to=2026-05-02T00:00:00.0000011Z',
      `?from=2026-05-02t00:00:00.${'0'.repeat(200)}z&to=2026-05-02t00:00:00.0000010000001z`,
      '?from=2026-05-01T23:59:59.9999999Z&to=2026-05-02T23:59:60Z',
      '?from=2026-05-01T00:00:00-23:59&to=2026-05-03T23:59:00%2B23:59',
    ])
      expect(await times(search), search).toEqual(['2026-05-02'])
    expect(await times('?from=2026-05-02T00:00:00.0000011Z&to=2026-05-02T00:00:01Z')).toEqual([])
    expect(await times('?from=2026-05-02T00:00:00Z&to=2026-05-02T00:00:00.000001Z')).toEqual([])
    const everything = '?from=0001-01-01T00:00:00%2B23:59&to=9999-12-31T23:59:60.9999999-23:59'
    expect((await times(everything)).slice(-3)).toEqual(['2026-05-03', '2026-05-02', '2026-05-01'])
    expect((await entries('?action=membership.role_changed')).map(({ target }) => target.id)).toEqual([
      sales.membershipId,
    ])
    expect(await entries(`?actor=${owner.userId}`)).toHaveLength(4)
    expect(await entries(`?actor=${sales.userId}`)).toEqual([])
    expect(
      await entries(`?actor=${owner.userId}&action=session.tenant_selected&from=2026-05-03T00:00:00Z`),
    ).toHaveLength(1)
  })

  it('names the members whose ids entries name, invited and former ones among them, when asked', async () => {
    const email = `invited@${slug}.test`
    const { body: invitation } = await service.request('POST /v1/members/invite', {
      token: owner.token,
      body: { email, role: 'sales' },
    })
    await service.request(`DELETE /v1/members/${sales.membershipId}`, { token: owner.token })
    const [alone, together] = [(await list()).body, (await list('?include=members')).body]
    const { members } = together
    expect(together).toEqual({ ...alone, members })
    expect(members).toContainEqual({ id: invitation.id, user: { id: null, email, full_name: null } })
    expect(members).toContainEqual({
      id: sales.membershipId,
      user: { id: sales.userId, email: expect.any(String), full_name: 'Person sales' },
    })
    expect(members).toHaveLength(
      (await service.request('GET /v1/members?status=active,invited,revoked', owner)).body.data.length,
    )
  })

  it('rejects malformed filters with 422', async () => {
    for (const query of [
      'actor=me',
      'actor=',
      'action=',
      'action=Everything',
      "action=a.b'--",
      'from=yesterday',
      'from=',
      'to=infinity',
      'from=2026-02-30T00:00:00Z',
      'from=0000-01-01T00:00:00Z',
      'from=2026-01-01T00:00:00%2B24:00',
      'to=2026-01-01',
      `actor=${owner.userId}&actor=${owner.userId}`,
    ]) {
      const answer = await list(`?${query}`)
      expect(answer.status, query).toBe(422)
      expect(answer.body.errors[0].pointer, query).toBe(`#/${query.slice(0, query.indexOf('='))}`)
    }
  })

  it('pages newest first, each entry exactly once, even within the same microsecond', async () => {
    const moment = '2026-05-01T00:00:00.123456Z'
    await plant(Array.from({ length: 7 }, () => moment))
    await plant(Array.from({ length: 9 }, (_, index) => `2026-05-02T00:00:00.00000${index}Z`))
    await plant(['2027-01-01T00:00:00Z', '2029-01-01T00:00:00Z'])
    const rows = await service.sql`
      select id from app.audit_log where tenant_id = ${tenant} order by occurred_at desc, id desc`
    for (const limit of [1, 5, 18, 100]) {
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const { body }: Answer = await list(`?limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`)
        seen.push(...body.data.map(({ id }: Entry) => id))
        expect(seen.length, `by ${limit}`).toBeLessThanOrEqual(18)
        cursor = body.next_cursor
      } while (cursor !== null)
      expect(seen, `by ${limit}`).toEqual(rows.map(({ id }) => id))
    }
  })
})
