import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { checkCatalogue } from '#shared/doctor/catalogue.ts'
import { ticketFor } from '#tests/support/proof.ts'
import { enterTenant, allowed, attempt, type Guarantee, REFUSED } from './guarantee.ts'
import type { TenantTable, TwoTenants } from './two-tenants.ts'

// Such statements need SELECT on the whole table. A role that may read only some columns is refused.
const NEEDS_EVERY_COLUMN = /\btable |select \*|ctid/

async function wholeRows(sql: postgres.ISql, name: string): Promise<boolean> {
  const [row] = await sql<{ readable: boolean }[]>`select has_table_privilege(${name}, 'select') as readable`
  return row?.readable ?? false
}

/** Guarantees 1 to 4 for one table. Where identity_app may not read the table, every read must be refused instead. */
export function guaranteesOf({ own, other }: TwoTenants, table: TenantTable) {
  const { name, column, owned, nullable } = table
  const readable = (sql: postgres.Sql) => allowed(sql, table, 'select')
  const mayRun = async (sql: postgres.Sql, statement: string) =>
    NEEDS_EVERY_COLUMN.test(statement) ? wholeRows(sql, name) : readable(sql)
  const expectRows = async (sql: postgres.Sql, statement: string, parameters: string[], rows: number) => {
    const expected = (await mayRun(sql, statement)) ? { count: rows, code: '' } : { count: 0, code: REFUSED }
    assert.deepEqual(await attempt(sql, statement, parameters), expected, statement)
  }
  const expectRefused = async (sql: postgres.Sql, statement: string, parameters: (string | null)[]) =>
    assert.equal((await attempt(sql, statement, parameters)).code, REFUSED, `${statement} [${parameters.join()}]`)

  const read: Guarantee = {
    title: `guarantee 1: ${name} shows a tenant its own rows alone`,
    holds: async (sql) => {
      await enterTenant(sql, own)
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
      await enterTenant(sql, randomUUID())
      await expectRows(sql, `select from ${name} where ${column} is not null`, [], 0)
    },
  }
  const leak: Guarantee = {
    title: `guarantee 1: ${name} passes no row of another tenant to a function in a query`,
    holds: async (sql) => {
      for (const query of [
        `select from ${name} where app.f_leak(${column}::text)`,
        `select from (select * from ${name}) t where app.f_leak(${column}::text) and ${column} = $1`,
        `with t as (table ${name}) select from t where app.f_leak(${column}::text)`,
        `select count(*) filter (where app.f_leak(${column}::text)) from ${name}`,
        `select from ${name} a join ${name} b on a.ctid = b.ctid and app.f_leak(b.${column}::text)`,
        `select from ${name} order by app.f_leak(${column}::text)`,
      ]) {
        await enterTenant(sql, own)
        if (!(await mayRun(sql, query))) {
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
    title: `guarantee 1: ${name} returns a tenant's own rows alone to COPY`,
    holds: async (sql) => {
      await enterTenant(sql, own)
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
      // COPY of a partitioned table returns no row.
      assert.ok((await copied(`${name} (${column})`)).every((tenant) => tenant === own))
    },
  }
  const insert: Guarantee = {
    title: `guarantee 2: ${name} rejects a new row with another tenant's id`,
    holds: async (sql) => {
      await enterTenant(sql, own)
      await expectRefused(sql, `insert into ${name} (${column}) values ($1)`, [other])
      await expectRefused(sql, `insert into ${name} (${column}) values ($1) on conflict do nothing`, [other])
      // Row security comes before NOT NULL: an own row passes it and fails on the missing columns.
      if (await allowed(sql, table, 'insert')) {
        const { code } = await attempt(sql, `insert into ${name} (${column}) values ($1)`, [own])
        assert.notEqual(code, REFUSED, 'its own row')
      }
    },
  }
  const update: Guarantee = {
    title: `guarantee 2: ${name} lets no row move to another tenant, and no row of another tenant change`,
    holds: async (sql) => {
      await enterTenant(sql, own)
      await expectRefused(sql, `update ${name} set ${column} = $1`, [other])
      await expectRefused(sql, `update ${name} set ${column} = $1 where ${column} = $2`, [other, own])
      if (!(await allowed(sql, table, 'update'))) return
      // Without a WHERE no column is read, so only the policy for UPDATE protects the other rows.
      await expectRows(sql, `update ${name} set ${column} = $1`, [own], owned)
      await expectRows(sql, `update ${name} set ${column} = $1 where ${column} = $2`, [own, other], 0)
    },
  }
  const remove: Guarantee = {
    title: `guarantee 2: ${name} keeps the rows of other tenants from DELETE`,
    holds: async (sql) => {
      await enterTenant(sql, own)
      const [row] = await sql<{ allowed: boolean }[]>`select has_table_privilege(${name}, 'delete') as allowed`
      if (row?.allowed !== true) return expectRefused(sql, `delete from ${name}`, [])
      await expectRows(sql, `delete from ${name}`, [], owned)
      await expectRows(sql, `delete from ${name} where ${column} = $1`, [other], 0)
    },
  }
  const system: Guarantee = {
    title: `guarantee 3: ${name} lets a tenant create, change and delete no system row`,
    holds: async (sql) => {
      await enterTenant(sql, own)
      await expectRefused(sql, `insert into ${name} (${column}) values ($1)`, [null])
      await expectRefused(sql, `update ${name} set ${column} = $1`, [null])
      if (!nullable) return
      if (await allowed(sql, table, 'update')) {
        await expectRows(sql, `update ${name} set ${column} = $1 where ${column} is null`, [own], 0)
        // The policy for SELECT hides system rows. Only a statement that reads no column could reach one.
        await expectRows(sql, `update ${name} set ${column} = $1`, [own], owned)
      }
      const [row] = await sql<{ allowed: boolean }[]>`select has_table_privilege(${name}, 'delete') as allowed`
      if (row?.allowed === true) await expectRows(sql, `delete from ${name}`, [], owned)
      const deleted = await attempt(sql, `delete from ${name} where ${column} is null`)
      assert.equal(deleted.count, 0)
      await enterTenant(sql, null)
      await expectRefused(sql, `insert into ${name} (${column}) values ($1)`, [null])
    },
  }
  const unset: Guarantee = {
    title: `guarantee 4: ${name} shows no row while no tenant is set`,
    holds: async (sql) => {
      await enterTenant(sql, null)
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
export const tenantsGuarantee = ({ own, other }: TwoTenants): Guarantee => ({
  title: 'guarantee 5: app.tenants shows a tenant itself alone',
  holds: async (sql) => {
    for (const tenant of [own, other]) {
      await enterTenant(sql, tenant)
      assert.deepEqual([...(await sql`select id from app.tenants`)], [{ id: tenant }])
    }
    const found = await sql`select id from app.tenants where id = ${own} or slug in ('acme-print', 'ACME-PRINT')`
    assert.equal(found.length, 0)
    await enterTenant(sql, null)
    assert.equal((await sql`select id from app.tenants`).length, 0)
  },
})

/** Guarantee 6, by a query that is independent of checkCatalogue. */
export const exemptGuarantee: Guarantee = {
  title: 'guarantee 6: users and every table with a tenant_id have row security',
  holds: async (sql) => {
    const rows = await sql<{ name: string }[]>`
      select n.nspname || '.' || c.relname as name
        from pg_attribute a
        join pg_class c on c.oid = a.attrelid and c.relkind in ('r', 'p')
        join pg_namespace n on n.oid = c.relnamespace
       where (a.attname = 'tenant_id' or a.attrelid = 'app.users'::regclass and a.attname = 'id')
         and not a.attisdropped and not (c.relrowsecurity and c.relforcerowsecurity)
       order by 1`
    assert.deepEqual(
      rows.map(({ name }) => name),
      [],
    )
  },
}

/** Guarantee 7 for tables and partitions. */
export const everyTableGuarantee: Guarantee = {
  title: 'guarantee 7: every table with a tenant_id and every partition has the tenant guard',
  holds: async (sql) => assert.deepEqual(await checkCatalogue(sql), []),
}

/** The tables with rows of the platform that a later migration may change. */
const OF_MIGRATIONS: ReadonlySet<string> = new Set(['app.roles', 'app.role_permissions'])

/** FORCE binds the owner too. Requires a connection that may become identity_owner. */
export const ownerGuarantee = ({ own }: TwoTenants, { name, column, platform }: TenantTable): Guarantee => ({
  title: `guarantee 7: ${name} neither shows a row of a tenant to its owner nor takes one from it`,
  holds: async (sql) => {
    await sql`set local role identity_owner`
    try {
      for (const tenant of [null, own]) {
        await enterTenant(sql, tenant)
        const count = OF_MIGRATIONS.has(name) ? platform : 0
        assert.deepEqual(await attempt(sql, `table ${name}`), { count, code: '' })
        assert.equal((await attempt(sql, `insert into ${name} (${column}) values ($1)`, [own])).code, REFUSED)
      }
    } finally {
      await sql`set local role identity_app`
    }
  },
})

/** Guarantee 7 for statements that name a partition directly. The policies of its parent do not apply there. */
export const partitionsGuarantee = ({ own, partitions }: TwoTenants): Guarantee => ({
  title: 'guarantee 7: a partition that is named directly shows no row of another tenant',
  holds: async (sql) => {
    for (const name of partitions) {
      await enterTenant(sql, own)
      const scoped = await attempt(sql, `select from ${name} where tenant_id is distinct from $1`, [own])
      await enterTenant(sql, null)
      const unscoped = await attempt(sql, `table ${name}`)
      assert.deepEqual([scoped.count, unscoped.count], [0, 0], name)
    }
  },
})

/** Guarantee 4 across transactions. `holds` gets a connection of identity_app outside a transaction. */
export const afterTransactionGuarantee = ({ own, admin }: TwoTenants, { name, owned }: TenantTable): Guarantee => ({
  title: `guarantee 4: ${name} shows no row after the transaction that set a tenant`,
  holds: async (sql) => {
    const ticket = await ticketFor(admin, own)
    const enter = (sql: postgres.ISql) => sql`select app.enter_to_write(${ticket}, null, false)`
    if (!(await wholeRows(sql, name))) {
      const refused = sql.begin(async (tx) => {
        await enter(tx)
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
      await enter(tx)
      assert.ok((await count(tx)) >= owned)
    })
    await expectNone('after a commit')
    const undone = new Error('rolled back')
    const rolledBack = sql.begin(async (tx) => {
      await enter(tx)
      throw undone
    })
    await assert.rejects(rolledBack, undone)
    await expectNone('after a rollback')
    await sql.begin(async (tx) => {
      const inner = tx.savepoint(async (inner) => {
        await enter(inner)
        throw undone
      })
      await assert.rejects(inner, undone)
      assert.equal(await count(tx), 0, 'after a rollback to a savepoint')
    })
    await enter(sql)
    await expectNone('after a statement without a transaction')
    await sql`reset app.scope`
    await expectNone('after a reset')
  },
})
