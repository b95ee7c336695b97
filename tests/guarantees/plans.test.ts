import { randomBytes } from 'node:crypto'
import type postgres from 'postgres'
import { afterAll, describe, expect, it } from 'vitest'
import { searchEntries } from '#functions/audit-log/queries.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { createTestDatabase } from '#tests/support/database.ts'
import { mintSession } from '#tests/support/minted-session.ts'
import { ticketOf } from '#tests/support/proof.ts'

const database = await createTestDatabase()
afterAll(() => database.drop())

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
})

describe('an attempt against a rate limit', () => {
  it('reads its own rows by an index, also with a plan that was made while the table was empty', async () => {
    await database.admin`vacuum analyze app.rate_limits`
    await rolledBack(async (sql) => {
      const scans = async () => {
        const [table] = await sql<{ seq_scan: number }[]>`
          select seq_scan::int from pg_stat_xact_user_tables where relname = 'rate_limits'`
        return table?.seq_scan
      }
      const before = await scans()
      await sql`select app.count_attempt('\\x01', 5, 3600, null)`
      expect(await scans()).toBe(before)
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
      const selected = await sql`select from app.select_tenant(${ticket}, ${row?.['tenant_id']}, 60, null, null, null)`
      expect([read.length, listed.length, selected.length]).toEqual([1, 2, 1])
      expect([...(await scans())]).toEqual(before)
    })
  })
})

describe('a page of the audit log', () => {
  it('is searched in the partitions of the last months first, and in the older ones after them', async () => {
    await database.admin`
      select app.create_audit_partition((date_trunc('month', now()) - make_interval(months => m))::date)
        from generate_series(1, 23) as m`
    const partitions: number[] = []
    let found: object[] = []
    const explained = async ([first = '', ...rest]: TemplateStringsArray, ...values: (string | number | null)[]) => {
      const raw = [`explain (format json) ${first}`, ...rest]
      const plan = JSON.stringify(await database.admin(Object.assign(raw, { raw }), ...values))
      partitions.push(new Set(plan.match(/audit_log_(?:default|\d{4}_\d\d)(?=")/g)).size)
      return found.splice(0)
    }
    const search = { limit: 20, before: null, actor: null, action: null, from: null, to: null }
    await searchEntries(explained as unknown as TenantTransaction, search)
    const yearAgo = new Date(Date.now() - 365 * 24 * 3_600_000).toISOString()
    await searchEntries(explained as unknown as TenantTransaction, { ...search, to: yearAgo })
    // The last three months or two, the next three, and the default partition.
    expect(partitions[0]).toBeLessThanOrEqual(7)
    expect(partitions[1]).toBeGreaterThan(20)
    expect(partitions[2]).toBeLessThanOrEqual(4)
    // A tenant that wrote half a page in the first search: the rest is in about as many months, or further back.
    partitions.length = 0
    found = Array.from({ length: 10 }, () => ({}))
    await searchEntries(explained as unknown as TenantTransaction, search)
    expect(partitions).toHaveLength(3)
    expect(partitions[1]).toBeLessThanOrEqual(7)
    expect(partitions[2]).toBeGreaterThan(15)
  })
})
