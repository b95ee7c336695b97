import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { loginName } from '#shared/db/role-settings.ts'
import { SERVICE_ROLES } from '#shared/base/needs.ts'
import { enterTenant, allowed, as, attempt, type Guarantee, REFUSED, tenantsOf } from './guarantee.ts'
import type { TwoTenants } from './two-tenants.ts'

/** Roles of the service only insert into the audit log, and only through the parent table. */
export const appendOnlyGuarantee = ({ own, partitions }: TwoTenants): Guarantee => ({
  title: 'guarantee 7: no role of the service changes the audit log or reaches one of its partitions',
  holds: async (sql) => {
    await enterTenant(sql, own)
    const refused = async (statement: string) => assert.equal((await attempt(sql, statement)).code, REFUSED, statement)
    for (const role of SERVICE_ROLES.map(loginName)) {
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

/** What the roles that act by functions for a proof alone reach of tables. */
const TABLES_OF = {
  identity_auth: new Set<string>(),
  identity_services: new Set<string>(),
  identity_mailer: new Set(['app.mail_pace']),
  identity_opener: new Set<string>(),
  identity_publisher: new Set<string>(),
} as const

/** The roles that act by functions for a proof, a lease or an audit entry alone reach no table but the pace of mails. */
export const provenGuarantee = ({ own }: TwoTenants, role: keyof typeof TABLES_OF): Guarantee => ({
  title: `guarantee 1: ${role} reads and writes no table except [${[...TABLES_OF[role]].join()}], in a tenant or in none`,
  holds: async (sql) => {
    const tables = await sql<{ name: string; view: boolean }[]>`
      select format('%I.%I', n.nspname, c.relname) as name, c.relkind = 'v' as view from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = 'app' and c.relkind in ('r', 'p', 'v') order by 1`
    assert.ok(tables.length > 20)
    for (const tenant of [null, own]) {
      await enterTenant(sql, tenant)
      await as(sql, role, async () => {
        for (const { name, view } of tables.filter((table) => !TABLES_OF[role].has(table.name))) {
          const changes = view ? [] : [`delete from ${name}`, `insert into ${name} default values`]
          for (const statement of [`select count(*) from ${name}`, ...changes])
            assert.equal((await attempt(sql, statement)).code, REFUSED, statement)
        }
      })
    }
  },
})

/** identity_app adds jobs through app.enqueue alone. */
export const queueGuarantee = ({ own }: TwoTenants): Guarantee => ({
  title: 'guarantee 1: identity_app neither reads nor changes the queue',
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

/** The role of the jobs. It sees every job and event, and otherwise the rows of the tenant that is set. */
export const workerGuarantee = ({ own, other, tables }: TwoTenants): Guarantee => ({
  title: "guarantee 1: the worker sees every job and event, and in every other table the set tenant's rows",
  holds: async (sql) => {
    const inQueue = await tenantsOf(sql, 'app.jobs', 'true', [])
    assert.deepEqual(new Set(inQueue), new Set([own, other, null]))
    const events = await tenantsOf(sql, 'app.events', 'true', [])
    assert.ok(events.length > 0, 'events')
    for (const tenant of [null, own]) {
      await enterTenant(sql, tenant)
      await as(sql, 'identity_worker', async () => {
        const queue = await attempt(sql, 'select id from app.jobs')
        assert.deepEqual(queue, { count: inQueue.length, code: '' }, 'the queue')
        const seen = await attempt(sql, 'select id from app.events')
        assert.deepEqual(seen, { count: events.length, code: '' }, 'the events')
        for (const table of tables.filter(({ name }) => name !== 'app.jobs' && name !== 'app.events')) {
          const rows = await attempt(sql, `select ${table.column} from ${table.name}`)
          const expected = tenant === null ? 0 : table.owned + table.platform
          const expectation = (await allowed(sql, table, 'select'))
            ? { count: expected, code: '' }
            : { count: 0, code: REFUSED }
          assert.deepEqual(rows, expectation, table.name)
        }
        for (const statement of [
          'select tenant_id from app.audit_log',
          `insert into app.audit_log (tenant_id) values ('${own}')`,
          `insert into app.audit_log (tenant_id) values ('${other}')`,
          `insert into app.jobs (tenant_id) values ('${own}')`,
          'select tenant_id, before, after from app.events',
          'update app.events set job_id = null',
          `insert into app.events (tenant_id) values ('${own}')`,
          'select app.enqueue_events()',
          `select app.claim_jobs('event', 1, 60, 3)`,
          'select lease_token from app.jobs',
          'select payload from app.jobs',
          'update app.jobs set run_at = now()',
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

/** Operators read all tenants and memberships, and write in one tenant. Everything else is refused. */
export const operatorGuarantee = ({ own, other, tables }: TwoTenants): Guarantee => ({
  title: 'guarantee 1: operators see every tenant and membership, and write in the tenant that is set alone',
  holds: async (sql) => {
    const tenantCount = (await as(sql, 'none', () => sql`select from app.tenants`)).count
    const staff = await tenantsOf(sql, 'app.memberships', 'true', [])
    assert.ok(tenantCount > 1 && staff.includes(own) && staff.includes(other))
    const written = (of: string): string[] => [
      `insert into app.audit_log (tenant_id, action, target_type) values ('${of}', 'tenant.suspended', 'tenant')`,
      `insert into app.service_tenants (tenant_id, role) values ('${of}', 'a_service')`,
    ]
    const opened = (id: string) => `insert into app.tenants (id, slug, legal_name) values ('${id}', 'opened', 'Opened')`
    const fresh = randomUUID()
    for (const tenant of [null, own, other, fresh]) {
      await enterTenant(sql, tenant)
      await as(sql, 'identity_operator', async () => {
        const expectOf = async (statement: string, count: number, code = '') =>
          assert.deepEqual(await attempt(sql, statement), { count, code }, `${statement} [${tenant}]`)
        await expectOf('select id, slug, status from app.tenants', tenantCount)
        await expectOf('select settings from app.tenants', 0, REFUSED)
        await expectOf('table app.memberships', staff.length)
        for (const { name, column } of tables) {
          if (['app.tenants', 'app.memberships', 'app.service_tenants'].includes(name)) continue
          await expectOf(`select ${column} from ${name}`, 0, REFUSED)
          await expectOf(`update ${name} set ${column} = '${own}'`, 0, REFUSED)
          if (name !== 'app.audit_log') await expectOf(`insert into ${name} (${column}) values ('${own}')`, 0, REFUSED)
        }
        for (const target of [own, other, fresh]) {
          const [count, code] = target === tenant ? ([1, ''] as const) : ([0, REFUSED] as const)
          for (const statement of written(target)) await expectOf(statement, count, code)
          const there = target === tenant && target !== fresh
          await expectOf(opened(target), there ? 0 : count, there ? '23505' : code)
        }
        // Without a WHERE no column is read, so only the policy for UPDATE protects the other rows.
        const changed = tenant === own || tenant === other ? 1 : 0
        await expectOf(`update app.tenants set status = 'suspended'`, changed)
        for (const target of [own, other]) {
          await expectOf(
            `update app.tenants set suspended_at = now() where id = '${target}'`,
            target === tenant ? 1 : 0,
          )
        }
        await expectOf('select role from app.service_tenants', changed)
        await expectOf('update app.service_tenants set revoked_at = now()', changed)
        await expectOf('update app.memberships set role_id = 1', 0, REFUSED)
        await expectOf(`insert into app.memberships (tenant_id) values ('${own}')`, 0, REFUSED)
        await expectOf('update app.memberships set accepted_at = now()', 0, REFUSED)
      })
    }
  },
})

/** Operators see every tenant, but no secret, and delete nothing. */
export const operatorSecretsGuarantee = ({ own }: TwoTenants): Guarantee => ({
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

const MEMBERS = `id in (select user_id from app.memberships where tenant_id = app.current_tenant() and accepted_at is not null)`
const INVITES = `purpose = 'invite' and tenant_id = app.current_tenant()`

/** The rows of the account tables that each role reaches, by statement, and a column that its grants include. */
const REACHED: readonly (readonly [role: string, command: string, table: string, column: string, rows: string])[] = [
  ['identity_app', 'select', 'app.users', 'id', MEMBERS],
  ['identity_operator', 'select', 'app.users', 'id', 'true'],
  ['identity_operator', 'update', 'app.users', 'disabled_at', 'true'],
  ['identity_resolver', 'select', 'app.users', 'id', 'true'],
  ['identity_gate', 'update', 'app.users', 'last_login_at', 'true'],
  ['identity_app', 'select', 'app.sessions', 'user_id', 'tenant_id = app.current_tenant()'],
  ['identity_app', 'update', 'app.sessions', 'revoked_at', 'tenant_id = app.current_tenant()'],
  ['identity_operator', 'select', 'app.sessions', 'id', 'true'],
  ['identity_operator', 'update', 'app.sessions', 'revoked_at', 'true'],
  ['identity_resolver', 'update', 'app.sessions', 'revoked_at', 'true'],
  ['identity_gate', 'update', 'app.sessions', 'last_seen_at', 'true'],
  ['identity_app', 'select', 'app.tokens', 'id', INVITES],
  ['identity_app', 'update', 'app.tokens', 'role_id', INVITES],
  ['identity_operator', 'select', 'app.tokens', 'id', INVITES],
  ['identity_gate', 'update', 'app.tokens', 'consumed_at', 'true'],
]

/** Users, sessions and tokens belong to no tenant's guard: each role has policies of its own. */
export const accountsGuarantee = ({ own, other, users }: TwoTenants): Guarantee => ({
  title: 'guarantee 6: each role reaches the users, sessions and tokens that its statements need, and no other',
  holds: async (sql) => {
    await as(sql, 'none', async () => {
      for (const tenant of [own, other, null]) {
        await sql`
          insert into app.tokens (token_hash, purpose, user_id, tenant_id, expires_at)
          values (${randomBytes(32)}, ${tenant === null ? 'password_reset' : 'invite'}, ${users[0]?.id ?? null}, ${tenant},
                  now() - interval '1 day')`
      }
    })
    const token = (purpose: string, tenant: string | null) =>
      `insert into app.tokens (token_hash, purpose, user_id${tenant === null ? '' : ', tenant_id, email, role_id'}, expires_at)
       values (sha256('${randomUUID()}'), '${purpose}', '${users[0]?.id}'${tenant === null ? '' : `, '${tenant}', 'new@shops.test', 7`}, now())`
    for (const tenant of [null, own]) {
      await enterTenant(sql, tenant)
      for (const [role, command, table, column, rows] of REACHED) {
        const expected = (await as(sql, 'none', () => sql.unsafe(`select from ${table} where ${rows}`))).count
        const statement = {
          select: `select ${column} from ${table}`,
          update: `update ${table} set ${column} = ${column === 'role_id' ? '7' : 'now()'}`,
          delete: `delete from ${table}`,
        }[command]
        const reached = await as(sql, role, () => attempt(sql, statement ?? ''))
        assert.deepEqual(reached, { count: expected, code: '' }, `${role} ${statement} [${tenant}]`)
      }
      for (const [role, statement, code] of [
        ['identity_app', token('invite', own), REFUSED],
        ['identity_app', token('password_reset', null), REFUSED],
        ['identity_app', 'delete from app.tokens', REFUSED],
        ['identity_app', `update app.tokens set invited_by = '${users[0]?.id}'`, REFUSED],
        ['identity_operator', token('invite', own), REFUSED],
        ['identity_operator', token('password_reset', null), REFUSED],
        ['identity_worker', token('password_reset', null), REFUSED],
        ['identity_worker', 'select id from app.tokens', REFUSED],
        ['identity_worker', 'delete from app.tokens where expires_at < now()', REFUSED],
      ] as const) {
        const outcome = await as(sql, role, () => attempt(sql, statement))
        assert.equal(outcome.code, code, `${role} ${statement} [${tenant}]`)
      }
    }
  },
})

/** What has ended stays so, whatever the role. Requires a superuser's connection. */
export const endsOnceGuarantee: Guarantee = {
  title:
    'ended sessions stay ended, consumed tokens consumed, void password resets void, and a link never gets more time',
  holds: async (sql) => {
    await as(sql, 'none', async () => {
      const [user] = await sql<{ id: string }[]>`select id from app.users limit 1`
      const hash = randomBytes(32)
      await sql`
        insert into app.sessions (token_key, user_id, idle_expires_at, absolute_expires_at, csrf_secret)
        values (${hash}, ${user?.id ?? null}, now(), now(), ${hash})`
      await sql`
        insert into app.tokens (token_hash, purpose, user_id, expires_at)
        values (${hash}, 'password_reset', ${user?.id ?? null}, now())`
      const change = async (table: string, set: string) => {
        const column = table === 'sessions' ? 'token_key' : 'token_hash'
        return attempt(sql, `update app.${table} set ${set} where ${column} = '\\x${hash.toString('hex')}'`, [], true)
      }
      const expectOf = async (table: string, set: string, code: string) =>
        assert.deepEqual(await change(table, set), { count: code === '' ? 1 : 0, code }, `${table}: ${set}`)
      for (const [table, column] of [
        ['sessions', 'revoked_at'],
        ['tokens', 'consumed_at'],
      ] as const) {
        await expectOf(table, `${column} = null`, '')
        await expectOf(table, `${column} = now()`, '')
        await expectOf(table, `${column} = now()`, '')
        for (const other of ['null', `now() - interval '1 day'`, `'infinity'`])
          await expectOf(table, `${column} = ${other}`, '23514')
      }
      await expectOf('tokens', `expires_at = expires_at + interval '1 second'`, '23514')
      const voidUntil = (at: string) =>
        attempt(sql, `update app.users set resets_valid_from = ${at} where id = $1`, [user?.id ?? ''], true)
      for (const at of ['now()', `now() + interval '1 day'`]) assert.equal((await voidUntil(at)).code, '')
      for (const at of [`'-infinity'`, 'now()', `resets_valid_from - interval '1 microsecond'`, 'null'])
        assert.equal((await voidUntil(at)).code, at === 'null' ? '23502' : '23514', at)
      await expectOf('tokens', `expires_at = expires_at - interval '1 second'`, '')
      await expectOf('tokens', `expires_at = now() + interval '1 day', token_hash = sha256(token_hash)`, '')
    })
  },
}
