import { randomBytes } from 'node:crypto'
import type postgres from 'postgres'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { type EntrySearch, searchEntries } from '#functions/api/audit-log/queries.ts'
import { searchStyles } from '#functions/api/catalog/queries.ts'
import { findOverview } from '#functions/api/tenant/overview-queries.ts'
import { ROLE_SETTINGS } from '#shared/db/role-settings.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { searchRoles } from '#shared/identity/role-queries.ts'
import { END } from '#shared/schema/page.ts'
import { createTestDatabase } from '#tests/support/database.ts'
import { mintSession } from '#tests/support/minted-session.ts'
import { ticketOf } from '#tests/support/proof.ts'

const database = await createTestDatabase()
afterAll(() => database.drop())

/** Adds so many viewers to the tenant acme-print. */
const addViewers = (sql: postgres.TransactionSql, count: number) => sql`
  with person as (
    insert into app.users (email, full_name) select 'crowd' || n || '@shops.test', 'Person ' || n
      from generate_series(1, ${count}::int) n returning id)
  insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
  select t.id, p.id, 7, now() from app.tenants t, person p where t.slug = 'acme-print'`

/** Runs `work` in a transaction and takes back what it did. */
const rolledBack = async (work: (sql: postgres.TransactionSql) => Promise<void>): Promise<void> => {
  const undo = new Error('roll back')
  await database.admin
    .begin(async (sql) => {
      await work(sql)
      throw undo
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error
    })
}

/** Returns how many rows of these tables, or of their partitions, the transaction has read. */
async function rowsRead(sql: postgres.TransactionSql, tables: readonly string[]): Promise<number> {
  const [row] = await sql<{ read: number }[]>`
    select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read
      from pg_stat_xact_user_tables t
     where relname in ${sql(tables)} or exists (
       select from pg_inherits i where i.inhrelid = t.relid and i.inhparent = any (${tables.map((each) => `app.${each}`)}::text[]::regclass[]))`
  return row?.read ?? 0
}

describe('a function of the database', () => {
  it('is in language sql only as an expression, which Postgres inlines: it plans any other body at each call', async () => {
    const planned = async (sql: postgres.Sql | postgres.TransactionSql): Promise<string[]> => {
      const rows = await sql<{ name: string }[]>`
        select p.proname as name from pg_proc p
         where p.pronamespace = 'app'::regnamespace and p.prolang = (select oid from pg_language where lanname = 'sql')
           and (p.prosqlbody is null or p.proconfig is not null or p.prosecdef or p.proretset
                or p.prosqlbody::text !~ ':rtable <>' or p.prosqlbody::text ~ ':hasSubLinks true')`
      return rows.map(({ name }) => name)
    }
    expect(await planned(database.admin)).toEqual([])
    await rolledBack(async (sql) => {
      await sql`create function app.planted() returns bigint language sql stable return (select count(*) from app.sizes)`
      expect(await planned(sql)).toEqual(['planted'])
    })
  })

  it('has the search_path of the connections: Postgres plans its statements again whenever the path has changed', async () => {
    const ofFunctions = await database.admin<{ path: string }[]>`
      select distinct substr(setting, length('search_path=') + 1) as path
        from pg_proc p cross join unnest(p.proconfig) as setting
       where p.pronamespace = 'app'::regnamespace and setting like 'search\\_path=%'`
    const ofConnections = Object.values(ROLE_SETTINGS).map((each) => each['search_path'])
    expect(new Set(ofConnections)).toEqual(new Set(ofFunctions.map(({ path }) => path)))
  })
})

describe('an attempt against a rate limit', () => {
  it('reads its own rows alone, also with a plan that was made while the table was empty', async () => {
    await database.admin`vacuum analyze app.rate_limits`
    await rolledBack(async (sql) => {
      const scans = async () => {
        const [table] = await sql<{ seq_scan: number }[]>`
          select seq_scan::int from pg_stat_xact_user_tables where relname = 'rate_limits'`
        return table?.seq_scan
      }
      const attempt = () => sql`select from app.count_attempt(row('\\x01', 9, 3600)::app.limit)`
      const scanned = await scans()
      await attempt()
      // As the functions that count an attempt as a part of their work.
      await sql`set local plan_cache_mode = force_generic_plan`
      await attempt()
      expect(await scans()).toBe(scanned)
      for (const windows of [0, 1, 2])
        await sql`
          insert into app.rate_limits (key, window_start, attempts)
          select sha256(n::text::bytea), date_bin('1 hour', clock_timestamp(), '2000-01-01Z') - make_interval(hours => ${windows}), 1
            from generate_series(1, 300) n`
      await sql`insert into app.rate_limits (key, window_start, attempts) values ('\\x01', '2026-01-01', 9)`
      const before = await rowsRead(sql, ['rate_limits'])
      await attempt()
      expect((await rowsRead(sql, ['rate_limits'])) - before).toBeLessThan(10)
      expect(await sql`select from app.rate_limits where key = '\\x01'`).toHaveLength(1)
    })
  })
})

describe('a session', () => {
  it('is refused with a value of another length, by no constraint that each of its updates would read', async () => {
    const { admin } = database
    expect(await admin`select from pg_constraint where conrelid = 'app.sessions'::regclass and contype = 'c'`).toEqual(
      [],
    )
    await mintSession(admin, { email: 'both@shops.test' })
    const refused = { code: '23514', constraint_name: expect.stringMatching(/^(hash|user_agent)_check$/) }
    for (const [column, value] of [
      ['token_key', randomBytes(31)],
      ['csrf_secret', randomBytes(33)],
      ['ip_hash', randomBytes(0)],
      ['user_agent', 'x'.repeat(513)],
    ] as const)
      await expect(admin`update app.sessions set ${admin({ [column]: value })}`, column).rejects.toMatchObject(refused)
  })
})

describe('a function that reads a session', () => {
  it('finds each row by an index, also in a table of one page', async () => {
    const { id } = await mintSession(database.admin, { email: 'both@shops.test', slug: 'acme-print' })
    const ticket = await ticketOf(database.admin, id)
    const [row] = await database.admin`select token_key, tenant_id from app.sessions where id = ${id}`
    await database.admin`vacuum analyze`
    await rolledBack(async (sql) => {
      const scans = () => sql`
        select relname, seq_scan from pg_stat_xact_user_tables where schemaname = 'app' and relname <> 'seal' order by 1`
      const before = [...(await scans())]
      const read = await sql`select from app.authenticate(${row?.['token_key']}, 60)`
      const listed = await sql`select from app.tenants_of_session(${ticket})`
      const selected =
        await sql`select from app.select_tenant(${ticket}, ${row?.['tenant_id']}, 60, row(null, null, null)::app.source)`
      const sessions = await sql`select from app.sessions_of_session(${ticket})`
      await sql`set transaction read only`
      const entered = await sql`select app.enter(app.service_proof(${ticket}), 'deal.read')`
      expect([read, listed, selected, sessions, entered].map(({ length }) => length)).toEqual([1, 2, 1, 2, 1])
      expect([...(await scans())]).toEqual(before)
    })
  })

  it.each([0, 20, 100, 1000])(
    'reads no other session, with a plan that was made before there were statistics of %i',
    async (known) => {
      const fresh = await createTestDatabase()
      onTestFinished(() => fresh.drop())
      const { admin } = fresh
      const { id } = await mintSession(admin, { email: 'owner@acme.test', slug: 'acme-print' })
      const ticket = await ticketOf(admin, id)
      const [row] = await admin`select token_key, tenant_id from app.sessions where id = ${id}`
      const [key, tenant] = [row?.['token_key'], row?.['tenant_id']]
      await admin.begin(async (sql) => {
        const crowd = (count: number) => sql`
        with person as (
          insert into app.users (email, full_name) select gen_random_uuid() || '@shops.test', 'Person' from generate_series(1, ${count}::int)
          returning id),
        member as (
          insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
          select t.id, p.id, 7, now() from app.tenants t, person p where t.slug = 'acme-print' returning tenant_id, user_id)
        insert into app.sessions (token_key, user_id, tenant_id, idle_expires_at, absolute_expires_at, csrf_secret)
        select sha256(uuid_send(user_id)), user_id, tenant_id, now() + interval '1 hour', now() + interval '1 hour', sha256('')
          from member`
        const uses = {
          authenticate: () => sql`select from app.authenticate(${key}, 60)`,
          tenants_of_session: () => sql`select from app.tenants_of_session(${ticket})`,
          sessions_of_session: () => sql`select from app.sessions_of_session(${ticket})`,
          select_tenant: () =>
            sql`select from app.select_tenant(${ticket}, ${tenant}, 60, row(null, null, null)::app.source)`,
          enter_session: () => sql`select app.enter_session(${ticket})`,
          enter_to_write: () => sql`select app.enter_to_write(${ticket}, 'member.manage', true)`,
          end_sessions: () =>
            sql`select app.end_sessions(${ticket}, gen_random_uuid(), 'session.revoked', row(null, null, null)::app.source)`,
        }
        await crowd(known)
        for (const use of Object.values(uses)) await use()
        await crowd(1000)
        for (const [name, use] of Object.entries(uses)) {
          const before = await rowsRead(sql, ['sessions'])
          await use()
          expect((await rowsRead(sql, ['sessions'])) - before, name).toBeLessThan(20)
        }
      })
    },
  )
})

describe('an invitation', () => {
  it.each([
    ['while there was none', 0],
    ['before there were statistics of 500', 500],
    ['before there were statistics of 1000', 1000],
    ['before there were statistics of 5000', 5000],
  ])('reads no other invitation of the tenant, with a plan that was made %s', async (_, known) => {
    const { id } = await mintSession(database.admin, { email: 'owner@acme.test', slug: 'acme-print' })
    const ticket = await ticketOf(database.admin, id)
    await database.admin`vacuum analyze app.tokens`
    await rolledBack(async (sql) => {
      const invite = (email: string) => sql`
        select from app.issue_invitation(${ticket}, ${email}, 'sales', ${randomBytes(32)}, 'n', 60, 60, row(${randomBytes(32)}, 9, 60)::app.limit, row(${randomBytes(32)}, 9, 60)::app.limit, row('r', null, null)::app.source)`
      const crowd = (from: number, to: number) => sql`
        insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at)
        select sha256(n::text::bytea), 'invite', t.id, 'crowd' || n || '@shops.test', 7, now()
          from app.tenants t, generate_series(${from}::int, ${to}::int) n where t.slug = 'acme-print'`
      await crowd(1, known)
      await sql`discard plans`
      await invite('first@shops.test')
      await crowd(known + 1, known + 500)
      const before = await rowsRead(sql, ['tokens'])
      await invite('second@shops.test')
      expect((await rowsRead(sql, ['tokens'])) - before).toBeLessThan(10)
    })
  })
})

describe('the list of roles', () => {
  it('reads the roles of the tenant and of the platform by an index, among those of many tenants', async () => {
    const { id } = await mintSession(database.admin, { email: 'both@shops.test', slug: 'acme-print' })
    const ticket = await ticketOf(database.admin, id)
    await rolledBack(async (sql) => {
      await sql`
        with other as (
          insert into app.tenants (slug, legal_name, status) select 'crowd-' || n, 'Crowd', 'active' from generate_series(1, 3000) n
          returning id)
        insert into app.roles (tenant_id, code, label, rank, based_on) select id, 'helper', 'Helper', 10, 7 from other`
      await sql`analyze app.roles`
      await sql`set local role identity_app`
      await sql`set transaction read only`
      await sql`select app.enter_to_read(${ticket})`
      const before = await rowsRead(sql, ['roles'])
      const roles = await searchRoles(sql as unknown as TenantTransaction)
      expect(roles.map(({ code }) => code)).toHaveLength(7)
      expect((await rowsRead(sql, ['roles'])) - before).toBeLessThan(50)
    })
  })
})

describe('a page of styles without a search', () => {
  it.each([0, 50])(
    'reads no more of the platform and of the tenant than it returns, beside %i tenants with few styles',
    async (tenants) => {
      const { id } = await mintSession(database.admin, { email: 'both@shops.test', slug: 'acme-print' })
      const ticket = await ticketOf(database.admin, id)
      await rolledBack(async (sql) => {
        await sql`
        with other as (
          insert into app.tenants (slug, legal_name, status) select 'crowd-' || n, 'Crowd', 'active' from generate_series(1, ${tenants}::int) n
          returning id)
        insert into app.styles (tenant_id, style_number, name, brand, category)
        select id, 'T' || n, 'Crowd', 'Crowd', 'Crowd' from other, generate_series(1, 100) n
        union all
        select id, 'T' || n, 'Crowd', 'Crowd', 'Crowd'
          from generate_series(1, 3000) n, (select id from app.tenants where slug = 'acme-print' union all select null) tenant`
        await sql`analyze app.styles`
        await sql`set local role identity_app`
        await sql`set transaction read only`
        await sql`select app.enter_to_read(${ticket})`
        for (let pages = 0; pages < 10; pages += 1)
          for (const after of [null, ['T2000', END[1]]] as const) {
            const before = await rowsRead(sql, ['styles'])
            const page = await searchStyles(sql as unknown as TenantTransaction, { q: null, after, limit: 20 })
            expect(page).toHaveLength(21)
            expect((await rowsRead(sql, ['styles'])) - before).toBeLessThanOrEqual(2 * page.length)
          }
      })
    },
  )
})

describe('a page of members without a search', () => {
  it('reads no more people than it returns, also in a tenant that has most of them', async () => {
    const { id } = await mintSession(database.admin, { email: 'both@shops.test', slug: 'acme-print' })
    const ticket = await ticketOf(database.admin, id)
    await rolledBack(async (sql) => {
      await addViewers(sql, 3000)
      await sql`analyze app.users, app.memberships`
      const before = await rowsRead(sql, ['users', 'memberships'])
      const page = await sql`
        select from app.list_members(${ticket}, true, false, true, null, null, '', gen_random_uuid(), 21, false)`
      expect(page).toHaveLength(21)
      // And some index entries of dead rows.
      expect((await rowsRead(sql, ['users', 'memberships'])) - before).toBeLessThanOrEqual(2 * page.length + 10)
    })
  })
})

const NO_SEARCH: EntrySearch = {
  limit: 20,
  before: null,
  actors: null,
  action: null,
  routine: true,
  from: null,
  to: null,
}

describe('a page of the audit log', () => {
  it('opens the years that are asked for, and no others', async () => {
    const { admin } = database
    const [now] = await admin<{ year: number }[]>`
      select extract(year from now())::int as year
        from (select app.create_audit_partition((now() - interval '1 year')::date)) created`
    const year = now?.year ?? 0
    const { id } = await mintSession(admin, { email: 'both@shops.test', slug: 'acme-print' })
    const ticket = await ticketOf(admin, id)
    const opened = async (search: Partial<EntrySearch>): Promise<number[]> => {
      let years: number[] = []
      await rolledBack(async (sql) => {
        await sql`
          insert into app.audit_log (tenant_id, occurred_at, action, target_type)
          select t.id, make_timestamptz(y, 1, 2, 0, 0, 0), 'crowd.entry', 'crowd'
            from app.tenants t, generate_series(${year - 1}::int, ${year}::int) y where t.slug = 'acme-print'`
        await sql`set local role identity_app`
        await sql`set transaction read only`
        await sql`select app.enter_to_read(${ticket})`
        const scans = () => sql<{ year: number; scans: number }[]>`
          select right(relname, 4)::int as year, idx_scan::int as scans from pg_stat_xact_user_tables
           where relname like 'audit\\_log\\_2%' order by 1`
        const before = await scans()
        await searchEntries(sql as unknown as TenantTransaction, { ...NO_SEARCH, ...search })
        years = (await scans()).filter(({ scans }, at) => scans > (before[at]?.scans ?? 0)).map(({ year }) => year)
      })
      return years
    }
    const of = (year: number) => `${year}-01-01T00:00:00Z`
    expect((await opened({})).slice(0, 2)).toEqual([year - 1, year])
    for (const [from, to] of [
      [year - 1, year],
      [year, year + 1],
    ] as const)
      expect(await opened({ from: of(from), to: of(to) })).toEqual([from])
    expect(await opened({ before: [of(year - 1), END[1]] })).not.toContain(year)
  })

  it.each([0, 300])(
    'of an actor, of an action or of all reads little more than it returns, also after many searches, beside %i tenants with few entries',
    async (tenants) => {
      const { id } = await mintSession(database.admin, { email: 'both@shops.test', slug: 'acme-print' })
      const ticket = await ticketOf(database.admin, id)
      await rolledBack(async (sql) => {
        await sql`
          with other as (
            insert into app.tenants (slug, legal_name, status) select 'crowd-' || n, 'Crowd', 'active' from generate_series(1, ${tenants}::int) n
            returning id),
          person as (
            insert into app.users (email, full_name) select 'crowd' || n || '@shops.test', 'Person' from generate_series(1, 20) n returning id)
          insert into app.audit_log (tenant_id, actor_user_id, action, target_type, occurred_at)
          select t.id, p.id, 'crowd.usual_' || chr(97 + n % 12), 'crowd', now() - n * interval '3 hours'
            from (select id, 50 as entries from other union all select id, 5000 from app.tenants where slug = 'acme-print') t
           cross join lateral generate_series(1, entries) n
            join (select id, row_number() over () - 1 as place from person) p on p.place = n % 20`
        await sql`
          insert into app.audit_log (tenant_id, actor_user_id, action, target_type)
          select t.id, u.id, 'crowd.rare', 'crowd' from app.tenants t, app.users u
           where t.slug = 'acme-print' and u.email = 'owner@acme.test'`
        // Most entries of a shop say that somebody came or went.
        await sql`
          insert into app.audit_log (tenant_id, action, target_type)
          select t.id, 'session.tenant_selected', 'crowd' from app.tenants t, generate_series(1, 2000) where t.slug = 'acme-print'`
        await sql`analyze app.audit_log`
        const [some] = await sql<{ actor: string; to: string }[]>`
          select actor_user_id as actor, to_json(now() - interval '100 days') #>> '{}' as to
            from app.audit_log where action = 'crowd.usual_a' limit 1`
        await sql`set local role identity_app`
        await sql`set transaction read only`
        await sql`select app.enter_to_read(${ticket})`
        const nobody = '00000000-0000-4000-8000-000000000000'
        for (const [filter, most] of [
          [{}, 21],
          [{ to: some?.to ?? '' }, 21],
          [{ routine: false }, 21],
          [{ actors: [nobody] }, 0],
          [{ actors: [some?.actor ?? ''] }, 21],
          [{ actors: [some?.actor ?? ''], routine: false }, 21],
          [{ action: 'crowd.usual_a' }, 21],
          [{ action: 'crowd.rare' }, 1],
          [{ action: 'crowd.usual_a', to: some?.to ?? '' }, 21],
          [{ actors: [some?.actor ?? ''], action: 'crowd.rare' }, 0],
        ] as const) {
          const find = () => searchEntries(sql as unknown as TenantTransaction, { ...NO_SEARCH, ...filter })
          for (let searches = 0; searches < 10; searches += 1) await find()
          const before = await rowsRead(sql, ['audit_log'])
          expect(await find()).toHaveLength(most)
          expect((await rowsRead(sql, ['audit_log'])) - before, JSON.stringify(filter)).toBeLessThan(2 * most + 3)
        }
      })
    },
  )
})

describe('the overview of a tenant', () => {
  it('reads its members, and of its log, deals, designs and syncs what it counts, also in a tenant that has most of them', async () => {
    const { id } = await mintSession(database.admin, { email: 'both@shops.test', slug: 'acme-print' })
    const ticket = await ticketOf(database.admin, id)
    await rolledBack(async (sql) => {
      await addViewers(sql, 1000)
      await sql`
        insert into app.audit_log (tenant_id, action, target_type, occurred_at)
        select t.id, case when n % 20 = 0 then 'session.sign_in_failed' else 'crowd.entry' end, 'crowd', now() - n * interval '2 minutes'
          from app.tenants t, generate_series(1, 5000) n where t.slug = 'acme-print'`
      await sql`
        insert into app.deals (tenant_id, number, customer_name, currency, status)
        select t.id, 1000 + n, 'Crowd', t.currency, case when n % 50 = 0 then 'quoted' else 'won' end
          from app.tenants t, generate_series(1, 1000) n where t.slug = 'acme-print'`
      await sql`
        insert into app.designs (tenant_id, name, approved_at, approved_by)
        select t.id, 'Crowd', now(), m.user_id from generate_series(1, 1000) n, app.tenants t
          join lateral (select user_id from app.memberships where tenant_id = t.id limit 1) m on true where t.slug = 'acme-print'`
      await sql`analyze app.users, app.memberships, app.audit_log, app.deals, app.designs`
      await sql`set local role identity_app`
      await sql`set transaction read only`
      await sql`select app.enter_to_read(${ticket})`
      const find = () => findOverview(sql as unknown as TenantTransaction, ['*'])
      for (let times = 0; times < 10; times += 1) await find()
      const tables = ['audit_log', 'deals', 'designs', 'sync_runs', 'vendor_accounts']
      const [members, others] = [await rowsRead(sql, ['memberships', 'users']), await rowsRead(sql, tables)]
      const { people } = await find()
      expect(people?.failed_sign_ins).toBe(36)
      expect((await rowsRead(sql, ['memberships', 'users'])) - members).toBeLessThan(1100)
      expect((await rowsRead(sql, tables)) - others).toBeLessThan(200)
    })
  })
})
