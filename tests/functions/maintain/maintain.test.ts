import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { maintain } from '#functions/workers/maintain/maintain.ts'
import { checkCatalogue } from '#shared/doctor/catalogue.ts'
import type { Database, Sql } from '#shared/db/connect.ts'
import { connectTo } from '#tests/support/access.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'
import { mintSession, tenantId } from '#tests/support/minted-session.ts'

const never = () => false

interface Explained {
  readonly Plan: { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number }
}

let database: TestDatabase
let worker: Database
let acme: string
beforeAll(async () => {
  database = await createTestDatabase()
  worker = connectTo(database.workerUrl, { connections: 2, prepare: true })
  acme = await tenantId(database.admin, 'acme-print')
})
afterAll(async () => {
  await worker.close()
  await database.drop()
})

const run = () => maintain(worker.sql, never)

/** Returns the partitions of years, from the present one on. The template may have been made last year. */
async function years(): Promise<string[]> {
  const rows = await database.admin<{ name: string }[]>`
    select inhrelid::regclass::text as name from pg_inherits
     where inhparent = 'app.audit_log'::regclass
       and inhrelid::regclass::text between 'audit_log_' || to_char(now(), 'YYYY') and 'audit_log_9999' order by 1`
  return rows.map(({ name }) => name)
}

/** Returns the partitions that there shall be: those of today and of the day in three months. */
async function needed(): Promise<string[]> {
  const rows = await database.admin<{ name: string }[]>`
    select distinct 'audit_log_' || to_char(day, 'YYYY') as name
      from unnest(array[now(), now() + interval '3 months']) day order by 1`
  return rows.map(({ name }) => name)
}

/** Drops the partition of this year and returns its name. */
async function dropThisYear(): Promise<string> {
  const [name = ''] = await needed()
  await database.admin.unsafe(`drop table if exists app.${name}`)
  return name
}

/** Returns the entries of an action and the table that contains each. */
const entries = (action: string) => database.admin<{ id: string; lies_in: string; occurred_at: Date }[]>`
  select id, tableoid::regclass::text as lies_in, occurred_at from app.audit_log where action = ${action} order by occurred_at`

/** Writes an entry of the first day of a year, or of some days later. */
const write = (action: string, yearsAhead: number, days = 0) => database.admin`
  insert into app.audit_log (tenant_id, action, target_type, occurred_at)
  values (${acme}, ${action}, 'tenant',
          (date_trunc('year', now() at time zone 'UTC') + make_interval(years => ${yearsAhead}::int, days => ${days}::int))
            at time zone 'UTC')`

describe('audit log partitions', () => {
  // Entries in the default partition would move in the next test.
  afterEach(() => database.admin`delete from app.audit_log where action like 'test.%'`)

  it('creates the partitions for today and the next three months, and changes nothing when it runs again', async () => {
    await dropThisYear()
    for (let time = 1; time <= 2; time += 1) {
      expect(await run()).toMatchObject({ partitions: (await needed()).map((name) => `app.${name}`) })
      expect(await years()).toEqual(await needed())
    }
  })

  it('creates a missing partition and moves that year’s entries out of the default partition', async () => {
    const gone = await dropThisYear()
    const [last] = await database.admin<{ name: string }[]>`
      select app.create_audit_partition((now() - interval '1 year')::date)::text as name`
    await write('test.caught', -1)
    await write('test.caught', 0)
    await write('test.caught', 0, 364)
    await write('test.caught', 2)
    const before = await entries('test.caught')
    expect(before.map(({ lies_in }) => lies_in)).toEqual([
      last?.name,
      'audit_log_default',
      'audit_log_default',
      'audit_log_default',
    ])
    await run()
    const after = await entries('test.caught')
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id))
    expect(after.map(({ lies_in }) => lies_in)).toEqual([last?.name, gone, gone, 'audit_log_default'])
  })

  it('creates partitions with row security enabled and forced', async () => {
    await dropThisYear()
    await write('test.guarded', 0)
    await run()
    const unguarded = await database.admin<{ name: string }[]>`
      select relname as name from pg_class where relname like 'audit_log%' and relkind in ('r', 'p')
         and not (relrowsecurity and relforcerowsecurity)`
    expect(unguarded).toEqual([])
    expect(await checkCatalogue(database.admin)).toEqual([])
    // A partition cannot be read except through its parent.
    await expect(worker.sql`select from app.audit_log_default`).rejects.toMatchObject({ code: '42501' })
  })

  it('creates each partition once in concurrent runs while entries are written', async () => {
    for (let round = 0; round < 10; round += 1) {
      await dropThisYear()
      const action = `test.at_once_${'x'.repeat(round + 1)}`
      const calls = [run(), ...Array.from({ length: 10 }, () => write(action, 0)), run(), run()]
      const failed = (await Promise.allSettled(calls)).filter(({ status }) => status === 'rejected')
      expect(failed).toEqual([])
      expect(await years()).toEqual(await needed())
      await run()
      expect(await entries(action)).toHaveLength(10)
    }
  })

  describe.each([0, 1])('with %i entries to move', (toMove) => {
    it.each([
      ['changes a user', `update app.users set last_login_at = now() where email = 'owner@acme.test'`],
      ['reads users', `select from app.users limit 1`],
      ['reads tenants', `select from app.tenants limit 1`],
      ['locks a tenant against a deletion', `select from app.tenants for share`],
      ['locks a tenant', `select from app.tenants for no key update`],
    ])(
      'creates a partition beside a transaction that %s and then writes an entry, and neither fails',
      async (_, first) => {
        await dropThisYear()
        for (let at = 0; at < toMove; at += 1) await write('test.beside', 0)
        let creating: Promise<unknown> = Promise.resolve()
        await database.admin.begin(async (sql) => {
          await sql.unsafe(first)
          const ended: unknown[] = []
          creating = run()
          void Promise.allSettled([creating]).then((outcome) => ended.push(outcome))
          const waiting = () => sql`
          select from pg_locks where not granted and locktype = 'relation'
             and database = (select oid from pg_database where datname = current_database())`
          while (ended.length === 0 && (await waiting()).length === 0) await sql`select`
          await sql`insert into app.audit_log (tenant_id, action, target_type) values (${acme}, 'test.beside', 'tenant')`
        })
        await creating
        const [year] = await needed()
        expect((await entries('test.beside')).map(({ lies_in }) => lies_in)).toEqual(Array(1 + toMove).fill(year))
      },
    )
  })

  it('adds no event again for an entry that it moves, and one for the next entry', async () => {
    await dropThisYear()
    const published = () => write('tenant.changed', 0)
    const events = async () => (await database.admin`select from app.events`).length
    await published()
    const before = await events()
    await run()
    expect(await events()).toBe(before)
    await published()
    expect(await events()).toBe(before + 1)
    expect(await entries('tenant.changed')).toHaveLength(2)
    await database.admin`delete from app.audit_log where action = 'tenant.changed'`
  })

  it('fails while another transaction keeps the log locked, after its deletions, and lets writes go on', async () => {
    await dropThisYear()
    await database.admin`insert into app.rate_limits values (${randomBytes(32)}, now() - interval '2 days', 1)`
    await database.admin.begin(async (reader) => {
      await reader`select from app.audit_log`
      const failed = expect(run()).rejects.toMatchObject({ code: '55P03' })
      for (let time = 1; time <= 3; time += 1)
        await database.admin.begin(async (sql) => {
          await sql`set local lock_timeout = '1500ms'`
          await sql`update app.users set last_login_at = now() where email = 'owner@acme.test'`
        })
      await failed
    })
    expect(await database.admin`select from app.rate_limits`).toHaveLength(0)
    await run()
    expect(await years()).toEqual(await needed())
  })

  it('creates a partition of each day of the last two years, of this and of the next one, and of no other', async () => {
    const create = (yearsAhead: number, day: string) => database.admin`
      select app.create_audit_partition((extract(year from now() at time zone 'UTC') + ${yearsAhead}::int || ${day})::date)::text as name`
    const created = [await create(-2, '-01-01'), await create(-1, '-06-30'), await create(1, '-12-31')]
    await expect(create(-3, '-12-31')).rejects.toMatchObject({ code: '22023' })
    await expect(create(2, '-01-01')).rejects.toMatchObject({ code: '22023' })
    for (const [row] of created) await database.admin.unsafe(`drop table app.${row?.['name']}`)
  })
})

describe('deletion of expired rows', () => {
  const BATCH = 200

  beforeEach(async () => {
    await database.admin`delete from app.sessions`
    await database.admin`delete from app.tokens`
    await database.admin`delete from app.jobs`
    await database.admin`delete from app.events`
    await database.admin`delete from app.rate_limits`
    await database.admin`delete from app.known_networks`
  })

  /** Inserts sessions, tokens, jobs, events, limits and networks that ended so many days ago; a negative number is in the future. */
  async function makeEnded(count: number, daysAgo: number): Promise<void> {
    const { admin } = database
    await admin`
      insert into app.sessions (token_key, user_id, csrf_secret, idle_expires_at, absolute_expires_at)
      select sha256(gen_random_uuid()::text::bytea), (select id from app.users limit 1), ${randomBytes(32)},
             now(), now() - make_interval(days => ${daysAgo}::int)
        from generate_series(1, ${count}::int)`
    await admin`
      insert into app.tokens (token_hash, purpose, user_id, expires_at)
      select sha256(gen_random_uuid()::text::bytea), 'password_reset', (select id from app.users limit 1),
             now() - make_interval(days => ${daysAgo}::int)
        from generate_series(1, ${count}::int)`
    await admin`
      with job as (
        insert into app.jobs (kind, payload, idempotency_key, completed_at, dead_at)
        select 'event', '{}', gen_random_uuid()::text,
               case when n % 2 = 0 then now() - make_interval(days => ${daysAgo}::int) end,
               case when n % 2 = 1 then now() - make_interval(days => ${daysAgo}::int) end
          from generate_series(1, ${count}::int) as n
        returning id
      )
      insert into app.events (id, tenant_id, occurred_at, action, target_type, job_id)
      select gen_random_uuid(), ${acme}, now(), 'deal.created', 'deal', id from job`
    await admin`
      insert into app.rate_limits (key, window_start, attempts)
      select sha256(gen_random_uuid()::text::bytea), now() - make_interval(days => ${daysAgo}::int), 1
        from generate_series(1, ${count}::int)`
    await admin`
      insert into app.known_networks (key, seen_at)
      select sha256(gen_random_uuid()::text::bytea), now() - make_interval(days => ${daysAgo}::int)
        from generate_series(1, ${count}::int)`
  }

  const left = async () => {
    const [row] = await database.admin`
      select (select count(*)::int from app.sessions) as sessions, (select count(*)::int from app.tokens) as tokens,
             (select count(*)::int from app.jobs) as jobs, (select count(*)::int from app.events) as events,
             (select count(*)::int from app.rate_limits) as limits,
             (select count(*)::int from app.known_networks) as networks`
    return row
  }

  it('deletes rows that ended a month ago, across batches, and keeps all others', async () => {
    await makeEnded(2 * BATCH + 1, 31)
    await makeEnded(3, 29)
    await makeEnded(3, 1)
    await makeEnded(3, -1)
    const live = await mintSession(database.admin, { email: 'owner@acme.test', slug: 'acme-print' })
    await database.admin`
      insert into app.jobs (kind, payload, idempotency_key, run_at, created_at)
      values ('mail', '{}', 'waiting', now() - interval '90 days', now() - interval '90 days')`
    await database.admin`
      insert into app.events (id, tenant_id, occurred_at, action, target_type)
      values (gen_random_uuid(), ${acme}, now() - interval '90 days', 'deal.created', 'deal')`
    expect(await run()).toMatchObject({ deleted: 6 * (2 * BATCH + 1) + 3 })
    // Limits of yesterday and of the future remain. Limits of 29 days ago are useless.
    expect(await left()).toEqual({ sessions: 10, tokens: 9, jobs: 10, events: 10, limits: 6, networks: 9 })
    expect(await database.admin`select from app.sessions where id = ${live.id}`).toHaveLength(1)
    expect(await run()).toMatchObject({ deleted: 0 })
  })

  it('deletes a membership that was never accepted with its expired invitation, and keeps accepted ones', async () => {
    const { admin } = database
    const [waiting] = await admin<{ id: string; tenant_id: string; user_id: string }[]>`
      insert into app.memberships (tenant_id, user_id, role_id)
      select t.id, u.id, 7 from app.tenants t, app.users u where t.slug = 'acme-print' and u.email = 'nobody@shops.test'
      returning id, tenant_id, user_id`
    const [accepted] = await admin`
      select count(*)::int as count from app.memberships where accepted_at is not null`
    await admin`
      insert into app.tokens (id, token_hash, purpose, tenant_id, email, role_id, expires_at)
      select m.id, ${randomBytes(32)}, 'invite', m.tenant_id, u.email, m.role_id, now() - interval '31 days'
        from app.memberships m join app.users u on u.id = m.user_id where m.id = ${waiting?.id ?? ''}`
    await admin`update app.memberships set invitation_id = id where id = ${waiting?.id ?? ''}`
    expect(await run()).toMatchObject({ deleted: 1 })
    expect(await admin`select count(*)::int as count from app.memberships`).toEqual([accepted])
  })

  it('reads fewer than 130 buffers when nothing is left to delete, by custom and by generic plans', async () => {
    await makeEnded(5000, 1)
    // Without the rows that the tests before it deleted.
    await database.admin`vacuum (analyze) app.sessions, app.tokens, app.jobs, app.events, app.rate_limits, app.known_networks`
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      const client = postgres(database.workerUrl, { max: 1, connection: { plan_cache_mode: mode } })
      let buffers = 0
      const explained = async ([first = '', ...rest]: TemplateStringsArray, ...values: (string | number)[]) => {
        const raw = [`explain (analyze, buffers, format json) ${first}`, ...rest]
        const [row] = await client<{ 'QUERY PLAN': [Explained] }[]>(Object.assign(raw, { raw }), ...values)
        const plan = row?.['QUERY PLAN'][0].Plan
        buffers += (plan?.['Shared Hit Blocks'] ?? Number.NaN) + (plan?.['Shared Read Blocks'] ?? Number.NaN)
        return []
      }
      await maintain(explained as unknown as Sql, never)
      // The first call of a connection also read the catalogue.
      buffers = 0
      await maintain(explained as unknown as Sql, never)
      expect(buffers, mode).toBeLessThan(130)
      await client.end()
    }
  })

  it('deletes exactly one full batch', async () => {
    await makeEnded(BATCH, 31)
    expect(await run()).toMatchObject({ deleted: 6 * BATCH })
    expect(await left()).toEqual({ sessions: 0, tokens: 0, jobs: 0, events: 0, limits: 0, networks: 0 })
  })

  it('stops deleting when its time is up, and the next run resumes', async () => {
    await makeEnded(2 * BATCH, 31)
    let asked = 0
    await maintain(worker.sql, () => {
      asked += 1
      // The first time before it warns of keys that expire.
      return asked > 2
    })
    expect(await left()).toEqual({
      sessions: BATCH,
      ...Object.fromEntries(['tokens', 'jobs', 'events', 'limits', 'networks'].map((of) => [of, 2 * BATCH])),
    })
    await run()
    expect(await left()).toEqual({ sessions: 0, tokens: 0, jobs: 0, events: 0, limits: 0, networks: 0 })
  })

  it('deletes expired rows in three concurrent runs without a failure', async () => {
    await makeEnded(BATCH + 500, 31)
    await Promise.all([run(), run(), run()])
    await run()
    expect(await left()).toEqual({ sessions: 0, tokens: 0, jobs: 0, events: 0, limits: 0, networks: 0 })
  })
})
