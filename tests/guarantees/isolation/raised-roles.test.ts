import { randomBytes, randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, expect, it, vi } from 'vitest'
import { createTestDatabase } from '#tests/support/database.ts'
import { ticketOf } from '#tests/support/proof.ts'
import { attempt } from './guarantee.ts'

// SQL that somebody injects as identity_app into a request of a member of sales, in the scope of their own tenant.

const database = await createTestDatabase()
const { admin } = database
const app = postgres(database.appUrl, { max: 1, fetch_types: false, onnotice: () => {} })
afterAll(async () => {
  await app.end()
  await database.drop()
})

const [tenant = ''] = (await admin<{ id: string }[]>`select id from app.tenants order by slug limit 1`).map(
  ({ id }) => id,
)
const [sales] = await admin<{ user: string }[]>`
  select user_id as user from app.memberships where tenant_id = ${tenant} and role_id = 3`
const me = sales?.user ?? ''
const [session] = await admin<{ id: string }[]>`
  insert into app.sessions (token_key, csrf_secret, user_id, tenant_id, idle_expires_at, absolute_expires_at)
  values (${randomBytes(32)}, ${randomBytes(32)}, ${me}, ${tenant}, now() + interval '1 day', now() + interval '1 day') returning id`
const [stranger] = await admin<
  { id: string }[]
>`insert into app.users (email) values ('stranger@raised.test') returning id`
const [former] = await admin<{ id: string }[]>`
  with person as (insert into app.users (email) values ('former@raised.test') returning id)
  insert into app.memberships (tenant_id, user_id, role_id, accepted_at, revoked_at)
  select ${tenant}, id, 7, now(), now() from person returning user_id as id`
await admin`
  insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at)
  values (${randomBytes(32)}, 'invite', ${tenant}, 'invited@raised.test', 7, now() + interval '1 day')`

/** Everything that says who may what in the tenant. */
const state = (sql: postgres.Sql) =>
  sql.unsafe(`
  select 'membership' as what, id, user_id::text as whose, role_id, accepted_at, revoked_at from app.memberships where tenant_id = '${tenant}'
  union all
  select 'invitation', id, email, role_id, null, null from app.tokens where tenant_id = '${tenant}' and consumed_at is null
  order by 1, 2`)

/** Runs statements in the scope of the member of sales, and returns what they changed, before it is rolled back. */
async function changedBy(statements: readonly string[]): Promise<{ codes: string[]; changed: boolean }> {
  const before = await state(admin)
  const ticket = await ticketOf(admin, session?.id ?? '')
  const codes: string[] = []
  await app`begin`
  await app`select app.enter_to_write(${ticket}, 'catalog.read', false)`
  for (const statement of statements) {
    const filled = statement.replaceAll('{ticket}', `'\\x${ticket.toString('hex')}'`)
    codes.push((await attempt(app, filled, [], true)).code)
  }
  await app`commit`
  const after = await state(admin)
  return { codes, changed: JSON.stringify(after) !== JSON.stringify(before) }
}

const invitation = `insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, invited_by, expires_at)
  values (sha256('${randomUUID()}'), 'invite', '${tenant}', 'mine@raised.test', 1, '${me}', now() + interval '1 day')`

it.each([
  ['changes the own role', `update app.memberships set role_id = 1 where user_id = '${me}'`],
  ['changes the own role to one that may less', `update app.memberships set role_id = 7 where user_id = '${me}'`],
  ['changes every role', 'update app.memberships set role_id = 1'],
  ['raises another to a role below the own', `update app.memberships set role_id = 6 where role_id = 7`],
  ['lowers another', `update app.memberships set role_id = 7 where role_id = 2`],
  ['revokes another', `update app.memberships set revoked_at = now() where role_id = 7`],
  ['revives a former member', `update app.memberships set revoked_at = null where user_id = '${former?.id}'`],
  [
    'revives and raises one',
    `update app.memberships set revoked_at = null, role_id = 1 where user_id = '${former?.id}'`,
  ],
  ['accepts for another', `update app.memberships set accepted_at = now()`],
  [
    'inserts a membership',
    `insert into app.memberships (tenant_id, user_id, role_id) values ('${tenant}', '${stranger?.id}', 1)`,
  ],
  [
    'inserts one in place of the own',
    `insert into app.memberships (tenant_id, user_id, role_id, accepted_at) values ('${tenant}', '${me}', 1, now())
     on conflict (tenant_id, user_id) do update set role_id = 1`,
  ],
  ['inserts an invitation', invitation],
  ['raises an invitation', `update app.tokens set role_id = 1, invited_by = '${me}'`],
  ['takes over an invitation', `update app.tokens set invited_by = '${me}'`],
  ['cancels an invitation', 'delete from app.tokens'],
  ['cancels one by a function', 'select app.delete_invitation(i.id) from app.invitations i'],
  [
    'moves the own scope to nobody',
    `select set_config('app.scope', left(current_setting('app.scope'), 32) || repeat('0', 32), true)`,
    `update app.memberships set role_id = 1 where user_id = '${me}'`,
  ],
  [
    'locks itself in, and then raises itself',
    `select app.lock_member('${me}')`,
    `update app.memberships set role_id = 1 where user_id = '${me}'`,
  ],
])('a member of sales cannot: %s', async (_what, ...statements) => {
  const { codes, changed } = await changedBy(statements)
  expect(changed).toBe(false)
  expect(['42501', 'TN430', 'TN500']).toContain(codes.at(-1))
})

it('a member of sales changes no role by any function that identity_app may call', async () => {
  const functions = await admin<{ name: string; types: string[] }[]>`
    select p.oid::regproc::text as name, coalesce(array_agg(format_type(a.type, null) order by a.place) filter (where a.type is not null), '{}') as types
      from pg_proc p left join unnest(p.proargtypes) with ordinality as a(type, place) on true
     where p.pronamespace = 'app'::regnamespace and p.prorettype <> 'trigger'::regtype
       and has_function_privilege('identity_app', p.oid, 'execute')
     group by p.oid`
  expect(functions.length).toBeGreaterThan(10)
  const values: Readonly<Record<string, readonly string[]>> = {
    bytea: ['{ticket}', `sha256('x')`],
    text: [`'owner'`, `'stranger@raised.test'`, `'member.manage'`],
    uuid: [`'${me}'`, `'${tenant}'`],
    boolean: ['true'],
    integer: ['60'],
    jsonb: [`'{"template":"invitation"}'`],
    'timestamp with time zone': ['now()'],
    'app.source': [`row('r', null, null)::app.source`],
    'app."limit"': [`row(sha256('l'), 99, 60)::app.limit`],
  }
  for (const { name, types } of functions) {
    const choices = types.map((type) => values[type.replace(/^(source|"limit")$/, 'app.$1')] ?? ['null'])
    const calls = choices.reduce<string[][]>(
      (all, each) => all.flatMap((chosen) => each.map((value) => [...chosen, value])),
      [[]],
    )
    const { changed } = await changedBy(calls.map((chosen) => `select ${name}(${chosen.join(', ')})`))
    expect(changed, name).toBe(false)
  }
})

it('waits for a permission that the actor is losing, and then gives nothing', async () => {
  const other = postgres(database.appUrl, { max: 1, fetch_types: false, onnotice: () => {} })
  try {
    const role = async (code: string, ...permissions: string[]) => {
      const [row] = await admin<{ id: number }[]>`
        insert into app.roles (tenant_id, code, label, rank, based_on) values (${tenant}, ${code}, ${code}, 10, 7) returning id`
      for (const permission of permissions)
        await admin`insert into app.role_permissions (tenant_id, role_id, permission) values (${tenant}, ${row?.id ?? 0}, ${permission})`
      return row?.id ?? 0
    }
    const manager = await role('manager', 'member.manage', 'vendor.manage')
    const vendors = await role('vendors', 'vendor.manage')
    await admin`update app.memberships set role_id = ${manager} where user_id = ${me} and tenant_id = ${tenant}`
    const ticket = await ticketOf(admin, session?.id ?? '')
    const enter = async () => {
      await other`begin`
      await other`select app.enter_to_write(${ticket}, 'member.manage', false)`
    }
    const give = () =>
      attempt(
        other,
        `update app.memberships set role_id = ${vendors} where role_id = 7 and revoked_at is null`,
        [],
        true,
      )
    const lose = (sql: postgres.Sql | postgres.TransactionSql) =>
      sql`delete from app.role_permissions where role_id = ${manager} and permission = 'vendor.manage'`

    // While it is given, it cannot be lost.
    await enter()
    expect((await give()).code).toBe('')
    await expect(
      admin.begin(async (tx) => {
        await tx`set local lock_timeout = '100ms'`
        await lose(tx)
      }),
    ).rejects.toMatchObject({ code: '55P03' })
    await other`rollback`

    // While it is being lost, nobody who has it enters.
    let giving: ReturnType<typeof give> | undefined
    await admin.begin(async (tx) => {
      await lose(tx)
      giving = enter().then(give)
      await vi.waitUntil(
        async () =>
          (await tx`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
            .count > 0,
      )
    })
    expect((await giving)?.code).toBe('TN430')
    await other`rollback`
  } finally {
    await other.end()
  }
})
