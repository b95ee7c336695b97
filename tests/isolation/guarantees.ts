import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { checkCatalogue } from '#shared/db/catalogue.ts'
import { errorCode } from '#shared/db/failure.ts'
import type { TenantTable, TwoShops } from './two-shops.ts'

/**
 * A promise, and what throws when it is not kept. `holds` is given a connection inside a transaction in which the
 * current role is identity_app, and leaves nothing behind.
 */
export interface Guarantee {
  readonly title: string
  readonly holds: (sql: postgres.Sql) => Promise<void>
}

interface Outcome {
  /** Rows returned or changed. */
  readonly count: number
  /** The SQLSTATE of its refusal, or ''. */
  readonly code: string
}

const REFUSED = '42501'

/** Runs a statement and takes it back, unless it is to be kept. */
async function attempt(
  sql: postgres.Sql,
  statement: string,
  parameters: (string | null)[] = [],
  kept = false,
): Promise<Outcome> {
  await sql`savepoint attempt`
  let undone = !kept
  try {
    const { count } = await sql.unsafe(statement, parameters)
    return { count: count ?? 0, code: '' }
  } catch (error) {
    undone = true
    if (errorCode(error) === '') throw error
    return { count: 0, code: errorCode(error) }
  } finally {
    if (undone) await sql`rollback to savepoint attempt`
  }
}

/** Does something as another role, on a connection that may become any; `none` is the superuser whose it is. */
async function as<T>(sql: postgres.Sql, role: string, work: () => Promise<T>): Promise<T> {
  await sql.unsafe(`set local role ${role}`)
  const done = await work()
  await sql`set local role identity_app`
  return done
}

/** The tenants of the rows that match, seen past every guard, in order. */
const tenantsOf = (sql: postgres.Sql, table: string, condition: string, parameters: (string | null)[]) =>
  as(sql, 'none', async () => {
    const rows = await sql.unsafe<{ tenant_id: string | null }[]>(
      `select tenant_id from ${table} where ${condition} order by tenant_id`,
      parameters,
    )
    return rows.map((row) => row.tenant_id)
  })

const actFor = (sql: postgres.Sql, tenant: string | null) => sql`select app.set_tenant(${tenant})`

/** A statement on a table that its grants forbid is refused as well; only what they allow must be seen to work. */
async function allowed(sql: postgres.Sql, table: TenantTable, privilege: string): Promise<boolean> {
  const [row] = await sql<{ allowed: boolean }[]>`
    select has_column_privilege(${table.name}, ${table.column}, ${privilege}) as allowed`
  return row?.allowed ?? false
}

/** Guarantees 1 to 4 for one table. One that the Lambdas may not read at all refuses what it would else answer. */
export function guaranteesOf({ own, other }: TwoShops, table: TenantTable) {
  const { name, column, owned, nullable } = table
  const readable = (sql: postgres.Sql) => allowed(sql, table, 'select')
  const expectRows = async (sql: postgres.Sql, statement: string, parameters: string[], rows: number) => {
    const answered = (await readable(sql)) ? { count: rows, code: '' } : { count: 0, code: REFUSED }
    assert.deepEqual(await attempt(sql, statement, parameters), answered, statement)
  }
  const expectRefused = async (sql: postgres.Sql, statement: string, parameters: (string | null)[]) =>
    assert.equal((await attempt(sql, statement, parameters)).code, REFUSED, `${statement} [${parameters.join()}]`)

  const read: Guarantee = {
    title: `guarantee 1: ${name} shows a shop its own rows`,
    holds: async (sql) => {
      await actFor(sql, own)
      await expectRows(sql, `select from ${name} where ${column} is not null`, [], owned)
      await expectRows(sql, `select from ${name} where ${column} = $1`, [own], owned)
      await expectRows(sql, `select from ${name} where ${column} = $1`, [other], 0)
      await expectRows(sql, `select from ${name} where ${column} <> $1`, [own], 0)
      await expectRows(
        sql,
        `with every as materialized (table ${name}) select from every where ${column} <> $1`,
        [own],
        0,
      )
      await actFor(sql, randomUUID())
      await expectRows(sql, `select from ${name} where ${column} is not null`, [], 0)
    },
  }
  const leak: Guarantee = {
    title: `guarantee 1: ${name} shows no function in a query what the query may not see`,
    holds: async (sql) => {
      for (const query of [
        `select from ${name} where app.f_leak(${column}::text)`,
        `select from (select * from ${name}) t where app.f_leak(${column}::text) and ${column} = $1`,
        `with t as (table ${name}) select from t where app.f_leak(${column}::text)`,
        `select count(*) filter (where app.f_leak(${column}::text)) from ${name}`,
        `select from ${name} a join ${name} b on a.ctid = b.ctid and app.f_leak(b.${column}::text)`,
        `select from ${name} order by app.f_leak(${column}::text)`,
      ]) {
        await actFor(sql, own)
        if (!(await readable(sql))) {
          await expectRefused(sql, query, query.includes('$1') ? [other] : [])
          continue
        }
        await sql`savepoint leak`
        await sql`select set_config('leak.seen', '', true)`
        await sql.unsafe(query, query.includes('$1') ? [other] : [])
        const [row] = await sql<{ seen: string }[]>`select current_setting('leak.seen') as seen`
        await sql`rollback to savepoint leak`
        const seen = row?.seen ?? ''
        assert.ok(!seen.includes(other), query)
        assert.ok(seen.includes(own) || query.includes('$1'), `${query}: the function was not called`)
      }
    },
  }
  const copy: Guarantee = {
    title: `guarantee 1: ${name} is copied out by its own rows`,
    holds: async (sql) => {
      await actFor(sql, own)
      const copied = async (what: string): Promise<string[]> => {
        let text = ''
        for await (const chunk of await sql.unsafe(`copy ${what} to stdout`).readable()) text += String(chunk)
        return text.split('\n').filter((line) => line !== '' && line !== '\\N')
      }
      if (!(await readable(sql))) {
        for (const what of [`(select ${column} from ${name})`, `${name} (${column})`]) {
          await expectRefused(sql, `copy ${what} to stdout`, [])
        }
        return
      }
      const rows = Array.from({ length: owned }, () => own)
      assert.deepEqual(await copied(`(select ${column} from ${name})`), rows)
      // Of a partitioned table itself, COPY has none.
      assert.ok((await copied(`${name} (${column})`)).every((tenant) => tenant === own))
    },
  }
  const insert: Guarantee = {
    title: `guarantee 2: a row that is stamped with another shop's id is not put into ${name}`,
    holds: async (sql) => {
      await actFor(sql, own)
      await expectRefused(sql, `insert into ${name} (${column}) values ($1)`, [other])
      await expectRefused(sql, `insert into ${name} (${column}) values ($1) on conflict do nothing`, [other])
      // Row security is asked before NOT NULL: a row of its own goes on to the columns that are missing here.
      if (await allowed(sql, table, 'insert')) {
        const { code } = await attempt(sql, `insert into ${name} (${column}) values ($1)`, [own])
        assert.notEqual(code, REFUSED, 'its own row')
      }
    },
  }
  const update: Guarantee = {
    title: `guarantee 2: no row of ${name} is moved to another shop, nor is another's row changed`,
    holds: async (sql) => {
      await actFor(sql, own)
      await expectRefused(sql, `update ${name} set ${column} = $1`, [other])
      await expectRefused(sql, `update ${name} set ${column} = $1 where ${column} = $2`, [other, own])
      if (!(await allowed(sql, table, 'update'))) return
      // Without a WHERE no column is read, and so only the policy for UPDATE stands before the others' rows.
      await expectRows(sql, `update ${name} set ${column} = $1`, [own], owned)
      await expectRows(sql, `update ${name} set ${column} = $1 where ${column} = $2`, [own, other], 0)
    },
  }
  const remove: Guarantee = {
    title: `guarantee 2: no row of another shop is deleted from ${name}`,
    holds: async (sql) => {
      await actFor(sql, own)
      const [row] = await sql<{ allowed: boolean }[]>`select has_table_privilege(${name}, 'delete') as allowed`
      if (row?.allowed !== true) return expectRefused(sql, `delete from ${name}`, [])
      await expectRows(sql, `delete from ${name}`, [], owned)
      await expectRows(sql, `delete from ${name} where ${column} = $1`, [other], 0)
    },
  }
  const system: Guarantee = {
    title: `guarantee 3: a shop makes, changes and deletes no system row of ${name}`,
    holds: async (sql) => {
      await actFor(sql, own)
      await expectRefused(sql, `insert into ${name} (${column}) values ($1)`, [null])
      await expectRefused(sql, `update ${name} set ${column} = $1`, [null])
      if (!nullable) return
      if (await allowed(sql, table, 'update')) {
        await expectRows(sql, `update ${name} set ${column} = $1 where ${column} is null`, [own], 0)
        // Where the policy for SELECT shows no system row, only a statement that reads no column comes upon one.
        await expectRows(sql, `update ${name} set ${column} = $1`, [own], owned)
      }
      const [row] = await sql<{ allowed: boolean }[]>`select has_table_privilege(${name}, 'delete') as allowed`
      if (row?.allowed === true) await expectRows(sql, `delete from ${name}`, [], owned)
      const deleted = await attempt(sql, `delete from ${name} where ${column} is null`)
      assert.equal(deleted.count, 0)
      await actFor(sql, null)
      await expectRefused(sql, `insert into ${name} (${column}) values ($1)`, [null])
    },
  }
  const unset: Guarantee = {
    title: `guarantee 4: ${name} has no row for anyone while no tenant is set`,
    holds: async (sql) => {
      await actFor(sql, null)
      await expectRows(sql, `table ${name}`, [], 0)
      await expectRows(sql, `table ${name}`, [], 0)
      await expectRows(sql, `select from ${name} where ${column} = $1`, [own], 0)
      await expectRefused(sql, `insert into ${name} (${column}) values ($1)`, [own])
      if (await allowed(sql, table, 'update')) await expectRows(sql, `update ${name} set ${column} = $1`, [own], 0)
      assert.equal((await attempt(sql, `delete from ${name}`)).count, 0)
    },
  }
  return { read, leak, copy, insert, update, remove, system, unset }
}

/** Guarantee 5. */
export const tenantsGuarantee = ({ own, other }: TwoShops): Guarantee => ({
  title: 'guarantee 5: a tenant is visible only to itself',
  holds: async (sql) => {
    for (const tenant of [own, other]) {
      await actFor(sql, tenant)
      assert.deepEqual([...(await sql`select id from app.tenants`)], [{ id: tenant }])
    }
    const found = await sql`select id from app.tenants where id = ${own} or slug in ('acme-print', 'ACME-PRINT')`
    assert.equal(found.length, 0)
    await actFor(sql, null)
    assert.equal((await sql`select id from app.tenants`).length, 0)
  },
})

/** Guarantee 6, asked in its own way and not by checkCatalogue's. */
export const exemptGuarantee: Guarantee = {
  title: 'guarantee 6: of the tables with a tenant_id, sessions and tokens alone are without row security',
  holds: async (sql) => {
    const rows = await sql<{ name: string }[]>`
      select n.nspname || '.' || c.relname as name
        from pg_attribute a
        join pg_class c on c.oid = a.attrelid and c.relkind in ('r', 'p')
        join pg_namespace n on n.oid = c.relnamespace
       where a.attname = 'tenant_id' and not a.attisdropped and not (c.relrowsecurity and c.relforcerowsecurity)
       order by 1`
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['app.sessions', 'app.tokens'],
    )
  },
}

/** Guarantee 7: the tables, and each partition of them. */
export const everyTableGuarantee: Guarantee = {
  title: 'guarantee 7: every table with a tenant_id is under enforcement, and so is every partition',
  holds: async (sql) => assert.deepEqual(await checkCatalogue(sql), []),
}

/** FORCE: whoever migrates is bound as the Lambdas are. Asks for a connection that may become identity_owner. */
export const ownerGuarantee = ({ own }: TwoShops, { name }: TenantTable): Guarantee => ({
  title: `guarantee 7: ${name} has no row for its owner`,
  holds: async (sql) => {
    await sql`set local role identity_owner`
    try {
      for (const tenant of [null, own]) {
        await actFor(sql, tenant)
        assert.deepEqual(await attempt(sql, `table ${name}`), { count: 0, code: '' })
      }
    } finally {
      await sql`set local role identity_app`
    }
  },
})

/** Guarantee 7, of each partition that is named itself, which asks for no policy of its parent. */
export const partitionsGuarantee = ({ own, partitions }: TwoShops): Guarantee => ({
  title: 'guarantee 7: a partition that is named itself has no row for another shop',
  holds: async (sql) => {
    for (const name of partitions) {
      await actFor(sql, own)
      const scoped = await attempt(sql, `select from ${name} where tenant_id is distinct from $1`, [own])
      await actFor(sql, null)
      const unscoped = await attempt(sql, `table ${name}`)
      assert.deepEqual([scoped.count, unscoped.count], [0, 0], name)
    }
  },
})

/** The log is added to, by its own name, and never changed; a partition is not there for the service's roles. */
export const appendOnlyGuarantee = ({ own, partitions }: TwoShops): Guarantee => ({
  title: 'guarantee 7: no role of the service changes the audit log, or reaches a partition of it',
  holds: async (sql) => {
    await actFor(sql, own)
    const refused = async (statement: string) => assert.equal((await attempt(sql, statement)).code, REFUSED, statement)
    for (const role of ['identity_app', 'identity_worker', 'identity_operator']) {
      await as(sql, role, async () => {
        await refused('update app.audit_log set request_id = null')
        await refused('delete from app.audit_log')
        await refused('truncate app.audit_log')
        for (const name of partitions) {
          await refused(`table ${name}`)
          await refused(`insert into ${name} default values`)
          await refused(`update ${name} set request_id = null`)
          await refused(`delete from ${name}`)
        }
      })
    }
  },
})

/** What no Lambda sees or touches: it adds jobs by app.enqueue. */
export const queueGuarantee = ({ own }: TwoShops): Guarantee => ({
  title: 'guarantee 1: the Lambdas neither read nor change the queue',
  holds: async (sql) => {
    for (const tenant of [own, null]) {
      await actFor(sql, tenant)
      for (const statement of [
        'table app.jobs',
        'select count(*) from app.jobs',
        'select kind from app.jobs',
        `insert into app.jobs (tenant_id, kind, payload, idempotency_key) values ('${own}', 'mail', '{}', 'key')`,
        'insert into app.jobs default values',
        'update app.jobs set run_at = now()',
        'delete from app.jobs',
        'truncate app.jobs',
        `select app.claim_jobs('mail', 1, 60, 3)`,
      ]) {
        assert.equal((await attempt(sql, statement)).code, REFUSED, statement)
      }
    }
  },
})

/** The jobs' role. It sees every job, to claim it; of all else, what is its tenant's. */
export const workerGuarantee = ({ own, other, tables }: TwoShops): Guarantee => ({
  title: "guarantee 1: the worker sees the whole queue, and of every other table its tenant's rows",
  holds: async (sql) => {
    const inQueue = await tenantsOf(sql, 'app.jobs', 'true', [])
    assert.deepEqual(new Set(inQueue), new Set([own, other, null]))
    for (const tenant of [null, own]) {
      await actFor(sql, tenant)
      await as(sql, 'identity_worker', async () => {
        const queue = await attempt(sql, 'table app.jobs')
        assert.deepEqual(queue, { count: inQueue.length, code: '' }, 'the queue')
        for (const table of tables.filter(({ name }) => name !== 'app.jobs')) {
          const rows = await attempt(sql, `select ${table.column} from ${table.name}`)
          const expected = tenant === null ? 0 : table.owned
          const answered = (await allowed(sql, table, 'select'))
            ? { count: expected, code: '' }
            : { count: 0, code: REFUSED }
          assert.deepEqual(rows, answered, table.name)
        }
        for (const statement of [
          'select tenant_id from app.audit_log',
          `insert into app.audit_log (tenant_id) values ('${own}')`,
          `insert into app.audit_log (tenant_id) values ('${other}')`,
          `insert into app.jobs (tenant_id) values ('${own}')`,
          'select slug from app.tenants',
          'select settings from app.tenants',
          'select password_hash from app.users',
          'select token_key from app.sessions',
        ]) {
          assert.equal((await attempt(sql, statement)).code, REFUSED, statement)
        }
      })
    }
  },
})

/** What operators read of every shop, and write in one: all else is refused. */
export const operatorGuarantee = ({ own, other, tables }: TwoShops): Guarantee => ({
  title:
    'guarantee 1: operators see which shops there are and who works where, and write in the shop that is set alone',
  holds: async (sql) => {
    const shops = (await as(sql, 'none', () => sql`select from app.tenants`)).count
    const staff = await tenantsOf(sql, 'app.memberships', 'true', [])
    assert.ok(shops > 1 && staff.includes(own) && staff.includes(other))
    const written = (of: string): string[] => [
      `insert into app.memberships (tenant_id, user_id, role_id) values ('${of}', gen_random_uuid(), 1)`,
      `insert into app.audit_log (tenant_id, action, target_type) values ('${of}', 'tenant.suspended', 'tenant')`,
    ]
    const opened = (id: string) => `insert into app.tenants (id, slug, legal_name) values ('${id}', 'opened', 'Opened')`
    const fresh = randomUUID()
    for (const tenant of [null, own, other, fresh]) {
      await actFor(sql, tenant)
      await as(sql, 'identity_operator', async () => {
        const expectOf = async (statement: string, count: number, code = '') =>
          assert.deepEqual(await attempt(sql, statement), { count, code }, `${statement} [${tenant}]`)
        await expectOf('select id, slug, status from app.tenants', shops)
        await expectOf('select settings from app.tenants', 0, REFUSED)
        await expectOf('table app.memberships', staff.length)
        for (const { name, column } of tables) {
          if (name === 'app.tenants' || name === 'app.memberships') continue
          await expectOf(`select ${column} from ${name}`, 0, REFUSED)
          await expectOf(`update ${name} set ${column} = '${own}'`, 0, REFUSED)
          if (name !== 'app.audit_log') await expectOf(`insert into ${name} (${column}) values ('${own}')`, 0, REFUSED)
        }
        for (const shop of [own, other, fresh]) {
          const [count, code] = shop === tenant ? ([1, ''] as const) : ([0, REFUSED] as const)
          for (const statement of written(shop)) await expectOf(statement, count, code)
          const there = shop === tenant && shop !== fresh
          await expectOf(opened(shop), there ? 0 : count, there ? '23505' : code)
        }
        // Without a WHERE no column is read, and so only the policy for UPDATE stands before the others' rows.
        const changed = tenant === own || tenant === other ? 1 : 0
        await expectOf(`update app.tenants set status = 'suspended'`, changed)
        for (const shop of [own, other]) {
          await expectOf(`update app.tenants set suspended_at = now() where id = '${shop}'`, shop === tenant ? 1 : 0)
        }
        await expectOf('update app.memberships set role_id = 1', 0, REFUSED)
        await expectOf('update app.memberships set accepted_at = now()', 0, REFUSED)
      })
    }
  },
})

/** What operators, who may see every shop, are still not shown, and take away from none. */
export const operatorSecretsGuarantee = ({ own }: TwoShops): Guarantee => ({
  title: 'operators read no password, token or secret, and delete nothing',
  holds: async (sql) => {
    const every = await sql<{ name: string }[]>`
      select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'app' order by 1`
    for (const tenant of [null, own]) {
      await actFor(sql, tenant)
      await as(sql, 'identity_operator', async () => {
        for (const statement of [
          'table app.users',
          'select password_hash from app.users',
          'select from app.users where password_hash is not null',
          `update app.users set password_hash = ''`,
          'update app.users set disabled_at = now() returning password_hash',
          'update app.users set disabled_at = now() where password_hash is not null',
          'table app.sessions',
          'select token_key from app.sessions',
          'select csrf_secret from app.sessions',
          'update app.sessions set revoked_at = now() returning token_key',
          'update app.sessions set tenant_id = null',
          'table app.tokens',
          'select token_hash from app.tokens',
          'select from app.tokens where token_hash is not null',
          'update app.tokens set token_hash = token_hash',
          'update app.tokens set expires_at = now() returning token_hash',
          ...every.flatMap(({ name }) => [`delete from ${name}`, `truncate ${name}`]),
        ]) {
          assert.equal((await attempt(sql, statement)).code, REFUSED, statement)
        }
      })
    }
  },
})

/** The view of the invitations, which stands between a tenant and the tokens of all. */
export const invitationsGuarantee = ({ own, other }: TwoShops): Guarantee => ({
  title: "guarantee 1: a shop's open invitations are visible to itself alone, and no other token is",
  holds: async (sql) => {
    for (const [tenant, expected] of [
      [own, [own]],
      [other, [other]],
      [randomUUID(), []],
      [null, []],
    ] as const) {
      await actFor(sql, tenant)
      const rows = await sql<{ tenant_id: string; email: string }[]>`
        select t.tenant_id, i.email from app.invitations i left join app.tokens t on t.id = i.id`
      assert.deepEqual(
        [...rows],
        expected.map((id) => ({ tenant_id: id, email: 'open@shops.test' })),
      )
    }
  },
})

/** The view that says which sessions are live, read in the scope of either shop and of none. */
export const liveSessionsGuarantee = ({ own, other, sessions }: TwoShops): Guarantee => ({
  title: 'guarantee 1: a session that is bound to a shop is live in that shop alone',
  holds: async (sql) => {
    const ids = [sessions.own, sessions.other, sessions.pending, ...sessions.dead.map(([, id]) => id)]
    for (const [tenant, expected] of [
      [own, [sessions.own, sessions.pending]],
      [other, [sessions.other, sessions.pending]],
      [randomUUID(), [sessions.pending]],
      [null, [sessions.pending]],
    ] as const) {
      await actFor(sql, tenant)
      const rows = await sql<{ id: string }[]>`
        select session_id as id from app.live_sessions where session_id = any (${ids}) order by 1`
      assert.deepEqual(
        rows.map(({ id }) => id),
        expected.toSorted(),
      )
    }
  },
})

/** A function that reads past row security, called with what is and what is not the id of a live session. */
const readerGuarantee = ({ own, other, sessions }: TwoShops, name: string): Guarantee => ({
  title: `guarantee 6: ${name} answers the holder of a live session, of what is theirs, and nobody else`,
  holds: async (sql) => {
    const call = (session: string) =>
      sql.unsafe<{ tenant_id: string | null }[]>(`select tenant_id from ${name}($1)`, [session])
    for (const tenant of [null, own, other]) {
      await actFor(sql, tenant)
      for (const [why, id] of sessions.dead) assert.equal((await call(id)).length, 0, `the id is ${why}`)
      const both = new Set((await call(sessions.pending)).map((row) => row.tenant_id))
      assert.ok(both.has(own) && both.has(other))
      const single = new Set((await call(sessions.single)).map((row) => row.tenant_id))
      assert.deepEqual([...single], [own])
    }
  },
})

/** A function that writes past row security answers nothing, whatever it did. */
async function expectNothing(sql: postgres.Sql, call: string, parameters: (string | null)[]): Promise<void> {
  const outcome = await attempt(
    sql,
    `select from (select ${call}) as c(answer) where coalesce(answer::text, '') = ''`,
    parameters,
    true,
  )
  assert.deepEqual(outcome, { count: 1, code: '' }, call)
}

/** The function by which jobs are added. Its tenant is the transaction's, whatever a caller writes into the job. */
const enqueueGuarantee = ({ own, other }: TwoShops, name: string): Guarantee => ({
  title: `guarantee 6: ${name} adds one job, of the tenant that is set or else of the platform, and answers nothing`,
  holds: async (sql) => {
    const before = await tenantsOf(sql, 'app.jobs', 'true', [])
    const key = randomUUID()
    const added: (string | null)[] = []
    for (const tenant of [own, other, null]) {
      added.push(tenant)
      await actFor(sql, tenant)
      // A second time it changes nothing and says nothing of it; a key that another has used is not taken.
      for (let time = 1; time <= 2; time++) {
        const payload = JSON.stringify({ tenant_id: tenant === other ? own : other, time })
        await expectNothing(sql, `app.enqueue('send-mail', $1::text::jsonb, $2)`, [payload, key])
        assert.deepEqual(await tenantsOf(sql, 'app.jobs', 'idempotency_key = $1', [key]), added.toSorted(nullsLast))
      }
    }
    const after = await tenantsOf(sql, 'app.jobs', 'true', [])
    assert.deepEqual(after, [...before, ...added].toSorted(nullsLast))
  },
})

const nullsLast = (a: string | null, b: string | null): number =>
  a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -1 : 1

/** Calls what notes something of a person, for each account and for what is none: one entry in each shop of theirs. */
async function expectInTheirShops(
  sql: postgres.Sql,
  { own, other, accounts }: TwoShops,
  { call, entry }: { call: string; entry: string },
): Promise<void> {
  const count = async () => (await tenantsOf(sql, 'app.audit_log', 'true', [])).length
  for (const tenant of [null, own, other]) {
    for (const { what, id, shops } of accounts) {
      const before = await count()
      const request = randomUUID()
      await actFor(sql, tenant)
      await expectNothing(sql, call, [id, request])
      const condition = `request_id = $1 and target_id is not distinct from $2 and ${entry}`
      assert.deepEqual(await tenantsOf(sql, 'app.audit_log', condition, [request, id]), shops.toSorted(), what)
      assert.equal(await count(), before + shops.length, what)
    }
  }
}

/** The function that notes a failed sign-in, called for accounts that there are and that there are not. */
const failedSignInGuarantee = (shops: TwoShops, name: string): Guarantee => ({
  title: `guarantee 6: ${name} writes into the log of each shop of the account, and answers nothing`,
  holds: (sql) =>
    expectInTheirShops(sql, shops, {
      call: 'app.record_failed_sign_in($1, $2, null)',
      entry: `target_type = 'user' and action = 'session.sign_in_failed' and actor_user_id is null`,
    }),
})

/** The function that ends sessions, called for those of the user, of another's and for what is none. */
const endSessionsGuarantee = ({ own, other, sessions, accounts }: TwoShops, name: string): Guarantee => ({
  title: `guarantee 6: ${name} ends the live sessions of the user alone, and writes of each into the log of its own shop`,
  holds: async (sql) => {
    const [user = null] = accounts.filter(({ shops }) => shops.length === 2).map(({ id }) => id)
    const live = { [sessions.own]: own, [sessions.other]: other, [sessions.pending]: null }
    const every = [...Object.keys(live), sessions.single, ...sessions.dead.map(([, id]) => id)]
    const unrevoked = () =>
      as(sql, 'none', async () => {
        const rows = await sql<{ id: string }[]>`
          select id from app.sessions where id = any (${every}) and revoked_at is null order by id`
        return rows.map(({ id }) => id)
      })
    // What has expired goes with the others, and nobody is told.
    const expired = sessions.dead.flatMap(([why, id]) => (/idle|ended/.test(why) ? [id] : []))
    const calls: [who: string | null, session: string | null, others: boolean, ended: string[]][] = [
      [user, sessions.own, false, [sessions.own]],
      [user, sessions.other, false, [sessions.other]],
      [user, sessions.pending, false, [sessions.pending]],
      [user, sessions.own, true, [sessions.other, sessions.pending]],
      [user, null, true, Object.keys(live)],
      [user, null, false, []],
      [user, sessions.single, false, []],
      [null, sessions.own, false, []],
      [null, null, true, []],
      [randomUUID(), sessions.own, false, []],
      ...sessions.dead.map(([, id]): (typeof calls)[number] => [user, id, false, []]),
    ]
    const before = await unrevoked()
    for (const tenant of [null, own, other]) {
      for (const [who, session, others, ended] of calls) {
        const request = randomUUID()
        const what = `${who} ${session} ${others}`
        await sql`savepoint call`
        await actFor(sql, tenant)
        const call = `app.end_sessions($1, $2, $3 = 'others', 'session.revoked', $4, null)`
        const answered = await attempt(
          sql,
          `select from (select ${call}) as c(n) where n = ${ended.length}`,
          [who, session, others ? 'others' : 'one', request],
          true,
        )
        assert.deepEqual(answered, { count: 1, code: '' }, what)
        const gone = new Set([...ended, ...(others && who !== null ? expired : [])])
        assert.deepEqual(
          await unrevoked(),
          before.filter((id) => !gone.has(id)),
          what,
        )
        const shops = ended.flatMap((id) => live[id] ?? [])
        assert.deepEqual(await tenantsOf(sql, 'app.audit_log', 'request_id = $1', [request]), shops.toSorted(), what)
        const apart = `request_id = $1 and (target_id <> all ($2::text::uuid[]) or actor_user_id is distinct from $3)`
        assert.deepEqual(await tenantsOf(sql, 'app.audit_log', apart, [request, `{${ended.join()}}`, who]), [], what)
        await sql`rollback to savepoint call`
      }
    }
  },
})

/** The function that notes what a person did to their account, called for accounts that there are and that there are not. */
const ownChangeGuarantee = (shops: TwoShops, name: string): Guarantee => ({
  title: `guarantee 6: ${name} writes into the log of each shop of the account, and answers nothing`,
  holds: (sql) =>
    expectInTheirShops(sql, shops, {
      call: `app.record_own_change($1, 'user.password_changed', $2, null)`,
      entry: `target_type = 'user' and action = 'user.password_changed' and actor_user_id = target_id`,
    }),
})

/** The function that makes a partition, as the owner of all tables. Asks for a connection that may become the worker. */
const partitionGuarantee = ({ own, other }: TwoShops, name: string): Guarantee => ({
  title: `guarantee 6: ${name} is refused to the Lambdas, and makes for the worker a partition under enforcement`,
  holds: async (sql) => {
    await actFor(sql, own)
    const create = (kept: boolean) => attempt(sql, `select app.create_audit_partition('2040-02-29')`, [], kept)
    assert.equal((await create(false)).code, REFUSED, 'the Lambdas')
    await as(sql, 'none', async () => {
      for (const tenant of [own, other]) {
        await sql`
          insert into app.audit_log (tenant_id, occurred_at, action, target_type)
          values (${tenant}, '2040-02-01T00:00:00Z', 'tenant.read', 'tenant')`
      }
    })
    for (let time = 1; time <= 2; time++) {
      assert.deepEqual(await as(sql, 'identity_worker', () => create(true)), { count: 1, code: '' }, 'the worker')
      const moved = await tenantsOf(sql, 'app.audit_log_2040_02', 'true', [])
      assert.deepEqual(moved, [own, other].toSorted())
      assert.deepEqual(await checkCatalogue(sql), [])
      await actFor(sql, own)
      const seen = await sql`select tenant_id from app.audit_log where occurred_at >= '2040-01-01Z'`
      assert.deepEqual([...seen], [{ tenant_id: own }])
    }
    await as(sql, 'identity_owner', async () => {
      for (const table of ['audit_log', 'audit_log_2040_02', 'audit_log_default']) {
        await actFor(sql, null)
        assert.deepEqual(await attempt(sql, `table app.${table}`), { count: 0, code: '' }, table)
      }
    })
  },
})

const DEFINER_GUARANTEES: Readonly<Record<string, (shops: TwoShops, name: string) => Guarantee>> = {
  tenants_of_session: readerGuarantee,
  sessions_of_session: readerGuarantee,
  enqueue: enqueueGuarantee,
  record_failed_sign_in: failedSignInGuarantee,
  record_own_change: ownChangeGuarantee,
  end_sessions: endSessionsGuarantee,
  create_audit_partition: partitionGuarantee,
}

/** Whether a function reads past row security, and answers the holder of a session. */
export const isReader = (name: string): boolean => DEFINER_GUARANTEES[name] === readerGuarantee

/**
 * What a SECURITY DEFINER function promises. Asks for a connection that may become any role, since what a function wrote
 * is not for the Lambdas to see.
 */
export function definerGuarantee(shops: TwoShops, name: string): Guarantee {
  const guarantee = DEFINER_GUARANTEES[name]
  if (guarantee === undefined) throw new Error(`nothing says what ${name} promises: add its guarantee`)
  return guarantee(shops, name)
}

/** The same of every such function. */
export const definersGuarantee = (shops: TwoShops): Guarantee => ({
  title: "guarantee 6: every function that reads or writes past row security keeps to what is its caller's",
  holds: async (sql) => {
    for (const name of shops.definers) {
      await sql`savepoint definer`
      await definerGuarantee(shops, name).holds(sql)
      await sql`rollback to savepoint definer`
    }
  },
})

/** A shop keeps its last owner. Asks for a connection that may become any role, to a database with its triggers. */
export const lastOwnerGuarantee = (tenant: string): Guarantee => ({
  title: 'a shop keeps its last owner: who is neither demoted nor revoked nor deleted, unless there is another',
  holds: async (sql) => {
    await as(sql, 'none', () => sql`grant delete on app.memberships to identity_app`)
    await actFor(sql, tenant)
    const takings = (which: string): string[] => [
      `update app.memberships set role_id = 2 where ${which}`,
      `update app.memberships set revoked_at = now() where ${which}`,
      `update app.memberships set accepted_at = null where ${which}`,
      `delete from app.memberships where ${which}`,
    ]
    const expectAll = async (which: string, outcome: Outcome) => {
      for (const statement of takings(which)) assert.deepEqual(await attempt(sql, statement), outcome, statement)
    }
    const last = { count: 0, code: 'TN409' }
    await expectAll('role_id = 1', last)
    await expectAll('true', last)
    // Nor is the last owner moved into another shop, by whoever may write both.
    const move = (which: string) =>
      as(sql, 'none', () =>
        attempt(
          sql,
          `with shop as (insert into app.tenants (slug, legal_name) values ('moved-to', 'Moved to') returning id)
           update app.memberships m set tenant_id = shop.id from shop where m.tenant_id = $1 and ${which}`,
          [tenant],
        ),
      )
    assert.deepEqual(await move('m.role_id = 1'), last, 'moving the last owner')
    await expectAll('role_id = 7', await attempt(sql, 'select from app.memberships where role_id = 7'))
    // One who was invited as an owner, or was one once, does not count.
    const others = `app.memberships set role_id = 1, accepted_at = null where role_id = 2`
    await attempt(sql, `update ${others}`, [], true)
    await expectAll('role_id = 1 and accepted_at is not null', last)
    await attempt(
      sql,
      `update app.memberships set accepted_at = now(), revoked_at = now() where accepted_at is null`,
      [],
      true,
    )
    await expectAll('role_id = 1 and revoked_at is null', last)
    await attempt(sql, `update app.memberships set revoked_at = null where role_id = 1`, [], true)
    const one = (which: string) => `id = (select min(id::text)::uuid from app.memberships where ${which})`
    await expectAll(one('role_id = 1'), { count: 1, code: '' })
    const moved = await move(`m.${one(`role_id = 1 and tenant_id = m.tenant_id`)}`)
    assert.deepEqual(moved, { count: 1, code: '' }, 'moving one owner of several')
    await expectAll('role_id = 1', last)
  },
})

/** Guarantee 4 from one transaction to the next. `holds` is given a connection of the Lambdas' outside of one. */
export const afterTransactionGuarantee = ({ own }: TwoShops, { name, owned }: TenantTable): Guarantee => ({
  title: `guarantee 4: ${name} has no row for anyone once the transaction that set a tenant has ended`,
  holds: async (sql) => {
    const [row] = await sql<{ readable: boolean }[]>`select has_table_privilege(${name}, 'select') as readable`
    if (row?.readable !== true) {
      const refused = sql.begin(async (tx) => {
        await tx`select app.set_tenant(${own})`
        await tx.unsafe(`table ${name}`)
      })
      return assert.rejects(refused, { code: REFUSED })
    }
    const count = async (sql: postgres.ISql) => (await sql.unsafe(`table ${name}`)).count
    const expectNone = async (after: string) => {
      assert.equal(await count(sql), 0, after)
      assert.equal(await count(sql), 0, `${after}, the second statement`)
    }
    await expectNone('before')
    await sql.begin(async (tx) => {
      await tx`select app.set_tenant(${own})`
      assert.ok((await count(tx)) >= owned)
    })
    await expectNone('after a commit')
    const undone = new Error('undone')
    const rolledBack = sql.begin(async (tx) => {
      await tx`select app.set_tenant(${own})`
      throw undone
    })
    await assert.rejects(rolledBack, undone)
    await expectNone('after a rollback')
    await sql.begin(async (tx) => {
      const inner = tx.savepoint(async (inner) => {
        await inner`select app.set_tenant(${own})`
        throw undone
      })
      await assert.rejects(inner, undone)
      assert.equal(await count(tx), 0, 'after a rollback to a savepoint')
    })
    await sql`select app.set_tenant(${own})`
    await expectNone('after a statement of its own')
    await sql`reset app.tenant_id`
    await expectNone('after a reset')
  },
})

/**
 * What a write holds while it runs, on two connections of the Lambdas': a revocation waits for it, and so is never
 * answered before it, while the session's next request does not.
 */
export const revocationGuarantee = ({ own, sessions }: TwoShops) => ({
  title: 'a revocation waits for the writes that the session is in the middle of',
  holds: async (writer: postgres.Sql, revoker: postgres.Sql): Promise<void> => {
    await writer`begin`
    await revoker`begin`
    try {
      await actFor(writer, own)
      await writer`
        select app.enter_tenant(${own}, ${sessions.own}, l.role_id, 'company.read', false)
          from app.live_sessions l where l.session_id = ${sessions.own}`
      await actFor(revoker, own)
      await revoker`set local lock_timeout = '100ms'`
      const change = (statement: string) => attempt(revoker, statement, [sessions.own])
      const slide = await change('update app.sessions set last_seen_at = now(), idle_expires_at = now() where id = $1')
      assert.deepEqual(slide, { count: 1, code: '' })
      const revoke = await change('update app.sessions set revoked_at = now() where id = $1')
      assert.equal(revoke.code, '55P03', 'revoking the session')
      const dismiss = await change(`
        update app.memberships m set revoked_at = now() from app.sessions s
         where s.id = $1 and m.tenant_id = s.tenant_id and m.user_id = s.user_id`)
      assert.equal(dismiss.code, '55P03', 'revoking the membership')
    } finally {
      await revoker`rollback`
      await writer`rollback`
    }
  },
})
