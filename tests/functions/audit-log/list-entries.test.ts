import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { auditFailedSignIns } from '#functions/workers/audit-sign-ins/audit-sign-ins.ts'
import { ROUTINE_ACTIONS } from '#shared/audit/routine.ts'
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
  readonly target: { type: string; id: string; name: string | null }
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
    const membership = { type: 'membership', id: member?.['id'], name: email }
    const invited = { type: 'invitation', id: invitation, name: email }
    const expected = [
      ['invitation.created', ownerId, invited, null, { email, role: 'sales' }],
      ['invitation.replaced', ownerId, invited, null, { email, role: 'designer' }],
      ['invitation.resent', ownerId, invited, null, null],
      ['membership.accepted', newId, membership, null, { role: 'designer' }],
      ['membership.role_changed', ownerId, membership, { role: 'designer' }, { role: 'viewer' }],
      ['session.tenant_selected', newId, { type: 'session', id: pending.id, name: null }, null, null],
      ['membership.revoked', ownerId, membership, { role: 'viewer' }, null],
      [
        'invitation.created',
        ownerId,
        { type: 'invitation', id: other.body.id, name: null },
        null,
        { email: `other@${slug}.test`, role: 'viewer' },
      ],
      [
        'invitation.cancelled',
        ownerId,
        { type: 'invitation', id: other.body.id, name: null },
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
        actor: {
          type: 'user',
          id: actor,
          email: expect.any(String),
          full_name: actor === newId ? null : expect.any(String),
        },
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

  it('names whom and what the entries are about, whoever they are: also in a shop of hundreds, and after they have left', async () => {
    await service.sql`
      with person as (
        insert into app.users (email, full_name) select 'p' || n || ${`@${slug}.test`}, 'Person ' || n from generate_series(1, 120) n returning id)
      insert into app.memberships (tenant_id, user_id, role_id, accepted_at) select ${tenant}, id, 7, now() - interval '1 year' from person`
    const late = await createMember(service.sql, { email: `late@${slug}.test`, role: 'viewer', slug })
    const as = { token: owner.token }
    await service.request(`PATCH /v1/members/${late.membershipId}`, { ...as, body: { role: 'sales' } })
    await service.request(`DELETE /v1/members/${late.membershipId}`, as)
    const email = `invited@${slug}.test`
    const { body: invitation } = await service.request('POST /v1/members/invite', {
      ...as,
      body: { email, role: 'sales' },
    })
    await service.request(`POST /v1/members/invitations/${invitation.id}/resend`, as)
    await service.request('POST /v1/deals', { ...as, body: { customer_name: 'Blue Mesa' } })
    const named = (await entries()).map(({ action, target }) => [action, target.name])
    expect(named).toEqual(
      expect.arrayContaining([
        ['membership.role_changed', 'Person late'],
        ['membership.revoked', 'Person late'],
        ['invitation.created', email],
        ['deal.created', '1'],
      ]),
    )
  })

  it('names nobody of another tenant, even if an entry has their id', async () => {
    const other = await service.newTenant('owner')
    await service.sql`
      insert into app.audit_log (tenant_id, action, target_type, target_id)
      values (${tenant}, 'membership.revoked', 'membership', ${other.owner.membershipId}), (${tenant}, 'user.disabled', 'user', ${other.owner.userId})`
    expect((await entries()).map(({ target }) => target.name)).toEqual([null, null])
  })

  it('leaves the coming and going of members out when asked, unless the action names it', async () => {
    await plant(['2026-05-01T00:00:00Z', '2026-05-02T00:00:00Z'])
    await service.request(`PATCH /v1/members/${sales.membershipId}`, { token: owner.token, body: { role: 'viewer' } })
    const actions = async (query: string) => (await entries(query)).map(({ action }) => action)
    for (const query of ['?leave_out=sign-ins', `?leave_out=sign-ins&actor=${owner.userId}`])
      expect(await actions(query), query).toEqual(['membership.role_changed'])
    expect(await actions('?leave_out=sign-ins&action=session.tenant_selected')).toHaveLength(2)
    expect(await actions('')).toHaveLength(3)
  })

  it('stores the entries that readers may leave out as the code names them', async () => {
    const [index] = await service.sql<{ condition: string }[]>`
      select pg_get_expr(indpred, indrelid) as condition from pg_index where indexrelid = 'app.audit_log_of_changes'::regclass`
    const stored = Array.from((index?.condition ?? '').matchAll(/'([a-z_.]+)'/g), ([, action]) => action)
    expect(new Set(stored)).toEqual(new Set(ROUTINE_ACTIONS))
  })

  it('finds the entries of several people, in one order', async () => {
    await plant(['2026-05-01T00:00:00Z', '2026-05-03T00:00:00Z'])
    const third = await createMember(service.sql, { email: `third@${slug}.test`, role: 'viewer', slug })
    for (const [user, time] of [
      [sales.userId, '2026-05-02T00:00:00Z'],
      [third.userId, '2026-05-04T00:00:00Z'],
    ] as const)
      await service.sql`
        insert into app.audit_log (tenant_id, occurred_at, actor_user_id, action, target_type)
        values (${tenant}, ${time}::text::timestamptz, ${user}, 'deal.created', 'deal')`
    const found = await entries(`?actor=${owner.userId},${sales.userId}`)
    expect(found.map(({ occurred_at: at }) => at.slice(8, 10))).toEqual(['03', '02', '01'])
    expect(await entries(`?actor=${sales.userId},${third.userId}&action=session.tenant_selected`)).toEqual([])
  })

  it('says where a page is among all, and leads back page by page to the first one', async () => {
    await plant(Array.from({ length: 7 }, (_, index) => `2026-05-01T00:00:0${index}Z`))
    const get = async (cursor: string | null): Promise<Answer['body']> =>
      (await list(`?limit=3&include=position${cursor === null ? '' : `&cursor=${cursor}`}`)).body
    const pages = [await get(null)]
    while (pages.at(-1).next_cursor !== null) pages.push(await get(pages.at(-1).next_cursor))
    expect(pages.map(({ position }) => [position.total, position.more, position.preceding])).toEqual([
      [7, false, 0],
      [7, false, 3],
      [7, false, 6],
    ])
    expect(pages.map(({ position }) => position.previous_cursor)).toEqual([null, null, pages[0].next_cursor])
    expect(await get(pages[2].position.previous_cursor)).toEqual(pages[1])
  })

  it('counts at most 10,000 entries, and says that there are more', async () => {
    await service.sql`
      insert into app.audit_log (tenant_id, action, target_type, occurred_at)
      select ${tenant}, 'deal.created', 'deal', now() - n * interval '1 second' from generate_series(1, 10020) n`
    const { position } = (await list('?include=position')).body
    expect(position).toEqual({ total: 10_000, more: true, preceding: 0, previous_cursor: null })
    const [old] = await service.sql<{ at: string }[]>`
      select to_json(now() - interval '10010 seconds') #>> '{}' as at`
    const beyond = Buffer.from(JSON.stringify([old?.at, owner.userId])).toString('base64url')
    expect((await list(`?include=position&cursor=${beyond}`)).body.position).toMatchObject({
      preceding: null,
      previous_cursor: null,
    })
  })

  it('rejects malformed filters with 422', async () => {
    for (const query of [
      'actor=me',
      'actor=',
      `actor=${owner.userId},`,
      `actor=${Array.from({ length: 21 }, () => owner.userId).join(',')}`,
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
