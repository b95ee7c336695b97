import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { group } from '#functions/api/members/group.ts'
import { type MemberStatus, searchMembers } from '#functions/api/members/member-queries.ts'
import { Ticket } from '#shared/identity/ticket.ts'
import { type Counted, startCounted } from '#tests/support/counted.ts'
import { createTestDatabase, type TestDatabase, warmAppConnection } from '#tests/support/database.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { expectContract } from '#tests/support/expect-answer.ts'
import { newFactorUser } from '#tests/support/factor.ts'
import { fillManyTenants } from '#tests/support/many-tenants.ts'
import { createMember, createUser, createTenant } from '#tests/support/minted-session.ts'
import { sessionTicketFor } from '#tests/support/proof.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
let tenants = 0
let slug: string
let tenant: string
let token: string
let invitation: Answer

const list = (query = '', by = token): Promise<Answer> => service.request(`GET /v1/members${query}`, { token: by })
const emails = ({ body }: Answer): string[] => body.data.map(({ user }: { user: { email: string } }) => user.email)
const encode = (key: unknown): string => Buffer.from(JSON.stringify(key)).toString('base64url')

/** Creates a tenant with a founder, an owner, an invited person with an account, and a revoked member. */
async function newTenant(): Promise<void> {
  tenants += 1
  slug = `list-${tenants}`
  tenant = await createTenant(service.sql, slug)
  ;({ token } = await createMember(service.sql, { email: `owner@${slug}.test`, slug }))
  const email = `invited@${slug}.test`
  await createUser(service.sql, { email })
  invitation = await service.request('POST /v1/members/invite', { token, body: { email, role: 'sales' } })
  const userId = await createUser(service.sql, { email: `revoked@${slug}.test`, role: 'sales', slugs: [slug] })
  await service.sql`update app.memberships set revoked_at = now() where user_id = ${userId}`
}

describe('GET /v1/members', () => {
  it('says of each present member alone whether they have a second factor, and finds those who have none', async () => {
    await newTenant()
    const withApp = await newFactorUser(service, [slug])
    await service.sql`update app.memberships set revoked_at = null where tenant_id = ${tenant}`
    const gone = await newFactorUser(service, [slug])
    await service.sql`update app.memberships set revoked_at = now() where tenant_id = ${tenant} and user_id = ${gone.id}`
    const has = ({ body }: Answer) =>
      Object.fromEntries(
        body.data
          .filter(({ user }: { user: { email: string } }) => !user.email.startsWith('founder'))
          .map((member: { user: { email: string }; second_factor: boolean | null }) => [
            member.user.email,
            member.second_factor,
          ]),
      )
    const all = await list('?status=active,invited,revoked')
    expect(has(all)).toEqual({
      [`owner@${slug}.test`]: false,
      [`revoked@${slug}.test`]: false,
      [`invited@${slug}.test`]: null,
      [withApp.email]: true,
      [gone.email]: null,
    })
    for (const { id, second_factor: listed } of all.body.data)
      expect((await service.request(`GET /v1/members/${id}`, { token })).body.second_factor).toBe(listed)
    const without = await list('?status=active,invited,revoked&second_factor=false&include=total')
    expect(has(without)).toEqual({ [`owner@${slug}.test`]: false, [`revoked@${slug}.test`]: false })
    expect(without.body.total).toBe(without.body.data.length)
    expect(has(await list('?status=active,invited,revoked&second_factor=true'))).toEqual({ [withApp.email]: true })
    expect((await list('?second_factor=maybe')).status).toBe(422)
  })

  it('lists members with exactly the documented fields', async () => {
    await newTenant()
    const answer = await list('?status=active,invited,revoked')
    expect(answer.status).toBe(200)
    expectContract(answer, tenant)
    const invited = answer.body.data.find(({ user }: { user: { email: string } }) => user.email.startsWith('invited@'))
    expect(invited).toEqual({
      id: invitation.body.id,
      user: { id: null, email: `invited@${slug}.test`, full_name: null, avatar_url: null, disabled: false },
      role: { id: 3, code: 'sales', label: 'Sales', rank: 60 },
      second_factor: null,
      invited_by: invitation.body.invited_by,
      accepted_at: null,
      revoked_at: null,
      created_at: invitation.body.created_at,
    })
    for (const member of answer.body.data) expect(Object.keys(member)).toEqual(Object.keys(invited))
    const [row] = await service.sql`
      select m.id, m.created_at, u.id as user_id from app.memberships m join app.users u on u.id = m.user_id
       where u.email = ${`owner@${slug}.test`}`
    expect(answer.body.data.find(({ id }: { id: string }) => id === row?.['id'])).toMatchObject({
      user: { id: row?.['user_id'], email: `owner@${slug}.test`, full_name: 'Person owner' },
      created_at: row?.['created_at'].toISOString(),
    })
  })

  it('shows each time as JavaScript writes it, whatever its fraction of a second', async () => {
    await newTenant()
    for (const fraction of ['', '.1', '.05', '.123', '.1234', '.123456', '.999999', '.1000009']) {
      const time = `2026-03-29 01:59:59${fraction}+00`
      await service.sql`update app.memberships set created_at = ${time}::text::timestamptz where tenant_id = ${tenant}`
      const [row] = await service.sql<{ created_at: Date }[]>`
        select created_at from app.memberships where tenant_id = ${tenant} limit 1`
      const { body } = await list('?status=active')
      expect(body.data[0].created_at, fraction).toBe(row?.created_at.toISOString())
    }
  })

  it('shows which members are disabled, and of an invited person not even that', async () => {
    await newTenant()
    const disabled = [`founder@${slug}.test`, `invited@${slug}.test`]
    await service.sql`update app.users set disabled_at = now() where email in ${service.sql(disabled)}`
    const answer = await list('?status=active,invited')
    const shown = answer.body.data.map(({ user }: any) => [user.email, user.disabled])
    expect(Object.fromEntries(shown)).toEqual({
      [`founder@${slug}.test`]: true,
      [`owner@${slug}.test`]: false,
      [`invited@${slug}.test`]: false,
    })
  })

  it('lists revoked members only when asked, and filters by status', async () => {
    await newTenant()
    const founder = `founder@${slug}.test`
    const [owner, invited, revoked] = [`owner@${slug}.test`, `invited@${slug}.test`, `revoked@${slug}.test`]
    expect(emails(await list())).toEqual([invited, founder, owner])
    expect(emails(await list('?status=active'))).toEqual([founder, owner])
    expect(emails(await list('?status=invited'))).toEqual([invited])
    expect(emails(await list('?status=revoked'))).toEqual([revoked])
    expect(emails(await list('?status=revoked,invited'))).toEqual([invited, revoked])
    for (const status of ['', 'pending', 'active,', 'ACTIVE', 'active&status=revoked', "active'--"]) {
      const answer = await list(`?status=${status}`)
      expect(answer.status, status).toBe(422)
      expect(answer.body.errors[0].pointer, status).toMatch(/^#\/status/)
    }
  })

  it('finds who has each word of a search in the name or the address, without case, accents and punctuation', async () => {
    await newTenant()
    const [owner, invited, founder] = [`owner@${slug}.test`, `invited@${slug}.test`, `founder@${slug}.test`]
    await service.sql`update app.users set full_name = 'Zoë O''Hara-García 100%' where email in (${owner}, ${invited})`
    await service.sql`update app.users set full_name = 'Søren Łukasz Weiß' where email = ${founder}`
    for (const q of [
      'OWNER@',
      'wner',
      'zoe',
      'ZOË',
      "o'hara",
      'ohara',
      'o hara',
      'Garcia, Zoë',
      'hara owner',
      '100%',
      ' hara ',
    ])
      expect(emails(await list(`?q=${encodeURIComponent(q)}`)), q).toEqual([owner])
    for (const q of ['soren', 'Lukasz SØREN', 'weiss', 'WEISS, Søren', 'łuk founder'])
      expect(emails(await list(`?q=${encodeURIComponent(q)}`)), q).toEqual([founder])
    for (const q of ['INVITED@', 'ited', '_nvited']) expect(emails(await list(`?q=${q}`)), q).toEqual([invited])
    for (const q of ['nobody', '%%', '%_\\', 'zoe nobody', "' or '1'='1"])
      expect(emails(await list(`?q=${encodeURIComponent(q)}`)), q).toEqual([])
    expect(emails(await list('?q=revoked'))).toEqual([])
  })

  it('filters by role, also of invited persons and of roles of the tenant', async () => {
    await newTenant()
    const { body: role } = await service.request('POST /v1/roles', {
      token,
      body: { code: 'night', label: 'Night', based_on: 'viewer', add: [] },
    })
    await createUser(service.sql, { email: `night@${slug}.test`, role: 'viewer', slugs: [slug] })
    await service.sql`
      update app.memberships set role_id = ${role.id}
       where user_id = (select id from app.users where email = ${`night@${slug}.test`})`
    expect(emails(await list('?role=sales'))).toEqual([`invited@${slug}.test`])
    expect(emails(await list('?role=night'))).toEqual([`night@${slug}.test`])
    expect(emails(await list('?role=viewer'))).toEqual([])
    expect(emails(await list('?role=owner&q=founder'))).toEqual([`founder@${slug}.test`])
  })

  it('lists a member under a new name as soon as it changes', async () => {
    await newTenant()
    await service.sql`update app.users set full_name = 'Zz Last' where email = ${`founder@${slug}.test`}`
    expect(emails(await list('?status=active'))).toEqual([`owner@${slug}.test`, `founder@${slug}.test`])
    expect(emails(await list('?q=zz'))).toEqual([`founder@${slug}.test`])
  })

  it('counts the people of a search, and leads to the previous page as to the next', async () => {
    await newTenant()
    for (let index = 0; index < 11; index += 1)
      await createUser(service.sql, { email: `many${index}@${slug}.test`, role: 'viewer', slugs: [slug] })
    const search = 'q=many&include=total&limit=4'
    const pages: Answer[] = [await list(`?${search}`)]
    for (let next = pages[0]?.body.next_cursor; next !== null; next = pages.at(-1)?.body.next_cursor)
      pages.push(await list(`?${search}&cursor=${next}`))
    expect(pages.map(({ body }) => [body.preceding, body.data.length, body.total])).toEqual([
      [0, 4, 11],
      [4, 4, 11],
      [8, 3, 11],
    ])
    for (const [at, { body }] of pages.entries()) {
      if (at === 0) expect(body.previous_cursor).toBeNull()
      else
        expect(emails(await list(`?${search}&cursor=${body.previous_cursor}`))).toEqual(
          pages[at - 1] === undefined ? [] : emails(pages[at - 1] as Answer),
        )
    }
    const { body } = await list('?q=nobody&include=total')
    expect([body.total, body.preceding, body.previous_cursor]).toEqual([0, 0, null])
    expect((await list()).body).not.toHaveProperty('total')
  })

  it('pages through members, each exactly once, even those of the same name', async () => {
    await newTenant()
    for (let index = 0; index < 23; index += 1) {
      await createUser(service.sql, { email: `page${index}@${slug}.test`, role: 'viewer', slugs: [slug] })
    }
    await service.sql`update app.memberships set listed_as = 'the same' where tenant_id = ${tenant} and accepted_at is not null`
    const [rows] = await service.sql`
      select array_agg(id order by key, id) as ids
        from (select 'the same' as key, id from app.memberships where tenant_id = ${tenant} and accepted_at is not null and revoked_at is null
              union all select 'invited', id from app.tokens where tenant_id = ${tenant}) as listed`
    for (const limit of [1, 7, 25, 26, 100]) {
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const answer: Answer = await list(`?limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`)
        expect(answer.body.data.length).toBeLessThanOrEqual(limit)
        expect(answer.body.data.length).toBeGreaterThan(0)
        seen.push(...answer.body.data.map(({ id }: { id: string }) => id))
        expect(seen.length, `by ${limit}`).toBeLessThanOrEqual(26)
        cursor = answer.body.next_cursor
      } while (cursor !== null)
      expect(seen, `by ${limit}`).toEqual(rows?.['ids'])
    }
  })

  it.each(['GET /v1/members/invitations', 'GET /v1/audit-log'])(
    'rejects a cursor of %s with an impossible time',
    async (route) => {
      await newTenant()
      for (const time of [
        '2026-02-30T00:00:00.000000Z',
        '2026-02-31T12:00:00.000000Z',
        '2026-13-01T00:00:00.000000Z',
        '2026-01-01T25:00:00.000000Z',
        '2026-01-01T00:61:00.000000Z',
        '0000-01-01T00:00:00.000000Z',
        'yesterday',
        'infinity',
      ]) {
        const answer = await service.request(`${route}?cursor=${encode([time, randomUUID()])}`, { token })
        expect(answer.status, time).toBe(422)
        expect(answer.body.errors, time).toEqual([
          { pointer: '#/cursor', code: 'invalid-cursor', detail: 'is not a cursor of this list' },
        ])
      }
    },
  )

  it('lists no member of another tenant with any cursor', async () => {
    await newTenant()
    const first = await list('?limit=1')
    const foreign = { token, tenant, slug }
    await newTenant()
    expect(emails(await list('?status=active,invited,revoked')).every((email) => email.includes(slug))).toBe(true)
    const continued = await list(`?cursor=${first.body.next_cursor}`)
    expect(emails(continued).some((email) => email.includes(foreign.slug))).toBe(false)
  })
})

describe('the cost of a page among many tenants', () => {
  const WINDOWS = {
    'all members': {},
    'the first page': { limit: '20' },
    'a later page': { limit: '20', cursor: 'next' },
    'the last page': { limit: '40', cursor: 'next' },
    'the active': { status: 'active' },
    'the invited': { status: 'invited' },
    'the revoked': { status: 'revoked' },
    'a part of a name': { q: 'person' },
    'a role': { role: 'sales' },
    'who has no second factor': { second_factor: 'false', limit: '10' },
    'with the counts': { include: 'total', limit: '20' },
    'a name that nobody has': { q: 'nobody-of-this-name' },
    'all of it': { limit: '10', cursor: 'next', status: 'active,invited,revoked', q: 'many.test' },
  }
  // Includes the caller.
  const SHOP = 51
  const windows = Object.entries<Readonly<Record<string, string>>>(WINDOWS)
  let database: TestDatabase
  let manyTenant: string
  let counted: Counted
  let headers: Readonly<Record<string, string>>
  beforeAll(async () => {
    database = await createTestDatabase()
    manyTenant = await fillManyTenants(database.admin, {
      tenants: 2000,
      users: 5000,
      memberships: 20_000,
      members: SHOP - 1,
    })
    await database.admin`
      insert into app.factors (id, user_id, kind, name, key_id, witness_hash, sealed_secret, last_step)
      select gen_random_uuid(), u.id, 'totp', 'App', gen_random_uuid(), sha256('w'), sha256('s'), 1 from app.users u`
    await database.admin`analyze app.tenants, app.users, app.memberships, app.tokens, app.factors`
    const { token: owner } = await createMember(database.admin, { email: 'asks@many.test', slug: 'many-1' })
    headers = { authorization: `Bearer ${owner}` }
    counted = await startCounted(database, group)
  })
  afterAll(async () => {
    await counted.close()
    await database.drop()
  })

  const ask = (query: Readonly<Record<string, string>>) =>
    counted.ask(gatewayEvent({ route: 'GET /v1/members', headers, query }))

  /** Returns the query with the cursor of the previous page. */
  async function within({ cursor, ...query }: Readonly<Record<string, string>>) {
    return cursor === undefined ? query : { ...query, cursor: String((await ask(query)).body.next_cursor) }
  }

  it.each(windows)('lists members in two round trips including the session check: %s', async (_what, window) => {
    const query = await within(window)
    await ask(query)
    const { status, cost } = await ask(query)
    expect(status).toBe(200)
    expect(cost.roundTrips).toBe(2)
  })

  it.each(windows)(
    'reads rows of the tenant by an index alone, and no more than the page needs: %s',
    async (_what, window) => {
      const app = await warmAppConnection(database)
      onTestFinished(() => app.end())
      const {
        limit,
        cursor,
        status = 'active,invited',
        role = null,
        include,
        q = null,
        second_factor: has,
      } = await within(window)
      const search = {
        statuses: status.split(',') as MemberStatus[],
        role,
        q,
        secondFactor: has === undefined ? null : has === 'true',
        counted: include === 'total',
        after: cursor === undefined ? null : JSON.parse(Buffer.from(cursor, 'base64url').toString()),
        limit: Number(limit ?? 50),
      }
      await app.begin(async (tx) => {
        const ticket = new Ticket(await sessionTicketFor(database.admin, manyTenant))
        const read = async () => {
          const rows = await tx<{ name: string; scanned: number; fetched: number }[]>`
          select relname as name, seq_tup_read::int as scanned, idx_tup_fetch::int as fetched
            from pg_stat_xact_user_tables where relname in ('memberships', 'users', 'tokens', 'factors')`
          return new Map(rows.map((row) => [row.name, row]))
        }
        const before = await read()
        await searchMembers(tx, ticket, search)
        // Each page starts at its cursor in the index and stops when it is full. A fifth of the memberships is not active.
        const counts = include === undefined ? 0 : SHOP
        const full =
          q === null && role === null && has === undefined && status === 'active,invited'
            ? Math.ceil((search.limit + 1) * 1.25)
            : SHOP
        for (const [name, { scanned, fetched }] of await read()) {
          expect(scanned - (before.get(name)?.scanned ?? 0), name).toBe(0)
          // And some index entries of dead rows.
          const most = name === 'tokens' && !status.includes('invited') ? 0 : full + counts + 5
          expect(fetched - (before.get(name)?.fetched ?? 0), name).toBeLessThanOrEqual(most)
        }
      })
    },
  )
})
