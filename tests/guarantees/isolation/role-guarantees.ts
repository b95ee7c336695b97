import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { enterTenant, allowed, as, attempt, type Guarantee, REFUSED, tenantsOf } from './guarantee.ts'
import type { TwoShops } from './two-shops.ts'

/** The log is added to, by its own name, and never changed; a partition is not there for the service's roles. */
export const appendOnlyGuarantee = ({ own, partitions }: TwoShops): Guarantee => ({
  title: 'guarantee 7: no role of the service changes the audit log, or reaches a partition of it',
  holds: async (sql) => {
    await enterTenant(sql, own)
    const refused = async (statement: string) => assert.equal((await attempt(sql, statement)).code, REFUSED, statement)
    for (const role of ['identity_app', 'identity_worker', 'identity_operator', 'identity_vault']) {
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
      await enterTenant(sql, tenant)
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
      await enterTenant(sql, tenant)
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
      await enterTenant(sql, tenant)
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
      await enterTenant(sql, tenant)
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
