import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { checkCatalogue } from '#shared/doctor/catalogue.ts'
import { enterTenant, allowed, attempt, type Guarantee, REFUSED } from './guarantee.ts'
import type { TenantTable, TwoShops } from './two-shops.ts'

// A row, or its place, as a whole: refused to who may read some of the columns alone.
const NEEDS_EVERY_COLUMN = /\btable |select \*|ctid/

async function wholeRows(sql: postgres.ISql, name: string): Promise<boolean> {
  const [row] = await sql<{ readable: boolean }[]>`select has_table_privilege(${name}, 'select') as readable`
  return row?.readable ?? false
}

/** Guarantees 1 to 4 for one table. One that the Lambdas may not read at all refuses what it would else answer. */
export function guaranteesOf({ own, other }: TwoShops, table: TenantTable) {
  const { name, column, owned, nullable } = table
  const readable = (sql: postgres.Sql) => allowed(sql, table, 'select')
  const answerable = async (sql: postgres.Sql, statement: string) =>
    NEEDS_EVERY_COLUMN.test(statement) ? wholeRows(sql, name) : readable(sql)
  const expectRows = async (sql: postgres.Sql, statement: string, parameters: string[], rows: number) => {
    const answered = (await answerable(sql, statement)) ? { count: rows, code: '' } : { count: 0, code: REFUSED }
    assert.deepEqual(await attempt(sql, statement, parameters), answered, statement)
  }
  const expectRefused = async (sql: postgres.Sql, statement: string, parameters: (string | null)[]) =>
    assert.equal((await attempt(sql, statement, parameters)).code, REFUSED, `${statement} [${parameters.join()}]`)

  const read: Guarantee = {
    title: `guarantee 1: ${name} shows a shop its own rows`,
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
        await enterTenant(sql, own)
        if (!(await answerable(sql, query))) {
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
      // Of a partitioned table itself, COPY has none.
      assert.ok((await copied(`${name} (${column})`)).every((tenant) => tenant === own))
    },
  }
  const insert: Guarantee = {
    title: `guarantee 2: a row that is stamped with another shop's id is not put into ${name}`,
    holds: async (sql) => {
      await enterTenant(sql, own)
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
      await enterTenant(sql, own)
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
      await enterTenant(sql, own)
      const [row] = await sql<{ allowed: boolean }[]>`select has_table_privilege(${name}, 'delete') as allowed`
      if (row?.allowed !== true) return expectRefused(sql, `delete from ${name}`, [])
      await expectRows(sql, `delete from ${name}`, [], owned)
      await expectRows(sql, `delete from ${name} where ${column} = $1`, [other], 0)
    },
  }
  const system: Guarantee = {
    title: `guarantee 3: a shop makes, changes and deletes no system row of ${name}`,
    holds: async (sql) => {
      await enterTenant(sql, own)
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
      await enterTenant(sql, null)
      await expectRefused(sql, `insert into ${name} (${column}) values ($1)`, [null])
    },
  }
  const unset: Guarantee = {
    title: `guarantee 4: ${name} has no row for anyone while no tenant is set`,
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
export const tenantsGuarantee = ({ own, other }: TwoShops): Guarantee => ({
  title: 'guarantee 5: a tenant is visible only to itself',
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
        await enterTenant(sql, tenant)
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
      await enterTenant(sql, own)
      const scoped = await attempt(sql, `select from ${name} where tenant_id is distinct from $1`, [own])
      await enterTenant(sql, null)
      const unscoped = await attempt(sql, `table ${name}`)
      assert.deepEqual([scoped.count, unscoped.count], [0, 0], name)
    }
  },
})

/** Guarantee 4 from one transaction to the next. `holds` is given a connection of the Lambdas' outside of one. */
export const afterTransactionGuarantee = ({ own }: TwoShops, { name, owned }: TenantTable): Guarantee => ({
  title: `guarantee 4: ${name} has no row for anyone once the transaction that set a tenant has ended`,
  holds: async (sql) => {
    if (!(await wholeRows(sql, name))) {
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
