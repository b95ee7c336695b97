import { randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import postgres from 'postgres'
import { afterAll, expect, it } from 'vitest'
import { mayGive } from '#shared/identity/may-give.ts'
import { holds, PERMISSIONS, type Permission } from '#shared/identity/permissions.ts'
import { createTestDatabase } from '#tests/support/database.ts'
import { ticketOf } from '#tests/support/proof.ts'
import { attempt } from './guarantee.ts'

// SQL that somebody injects as identity_app into a request of a member who manages members: it makes and changes roles.

const RUNS = 150
const TIME_LIMIT_MS = 5_000

const database = await createTestDatabase()
const { admin } = database
const app = postgres(database.appUrl, { max: 1, fetch_types: false, onnotice: () => {} })
afterAll(async () => {
  await app.end()
  await database.drop()
})

const [shop] = await admin<{ id: string }[]>`select id from app.tenants order by slug limit 1`
const tenant = shop?.id ?? ''
const [person] = await admin<
  { id: string }[]
>`insert into app.users (email) values ('manager@widened.test') returning id`
const me = person?.id ?? ''

interface NewRole {
  readonly base: number
  readonly added: readonly Permission[]
}

/** Makes a role of the tenant as the platform does. Returns its id. */
async function newRole(sql: postgres.Sql, code: string, { base, added }: NewRole): Promise<number> {
  const [role] = await sql<{ id: number }[]>`
    insert into app.roles (tenant_id, code, label, rank, based_on)
    select ${tenant}, ${code}, ${code}, rank, id from app.roles where id = ${base} returning id`
  const id = role?.id ?? 0
  for (const permission of added)
    await sql`insert into app.role_permissions (tenant_id, role_id, permission) values (${tenant}, ${id}, ${permission})`
  return id
}

// Roles of one rank, and one of a higher rank that permits less than the first.
const ROLES: Readonly<Record<string, NewRole>> = {
  own: { base: 7, added: ['member.manage', 'vendor.manage', 'customer.write'] },
  lower: { base: 7, added: ['vendor.manage'] },
  equal: { base: 7, added: ['member.manage', 'vendor.manage', 'company.write'] },
  high: { base: 6, added: [] },
}
const ids: Record<string, number> = {}
for (const [code, role] of Object.entries(ROLES)) ids[code] = await newRole(admin, code, role)
await admin`
  insert into app.memberships (tenant_id, user_id, role_id, accepted_at) values (${tenant}, ${me}, ${ids['own'] ?? 0}, now())`
const [session] = await admin<{ id: string }[]>`
  insert into app.sessions (token_key, csrf_secret, user_id, tenant_id, idle_expires_at, absolute_expires_at)
  values (${randomBytes(32)}, ${randomBytes(32)}, ${me}, ${tenant}, now() + interval '1 day', now() + interval '1 day') returning id`

/** Every role with what it permits. */
const state = async () =>
  JSON.stringify(await admin`select id, label, rank, permissions, deleted_at from app.roles order by id`)

/** Runs statements in the scope of the manager. Returns the SQLSTATE of the last one, and whether a role changed. */
async function run(statements: readonly string[]): Promise<{ code: string; changed: boolean }> {
  const before = await state()
  const ticket = await ticketOf(admin, session?.id ?? '')
  let code = ''
  await app`begin`
  await app`select app.enter_to_write(${ticket}, 'member.manage', true)`
  for (const statement of statements) {
    const filled = statement.replace(/\{(\w+)\}/g, (_, name: string) => String(ids[name]))
    code = (await attempt(app, filled, [], true)).code
  }
  await app`commit`
  return { code, changed: (await state()) !== before }
}

const add = (role: string, ...permissions: string[]) =>
  `insert into app.role_permissions (tenant_id, role_id, permission)
   select '${tenant}', ${role}, unnest('{${permissions.join(',')}}'::text[])`
const make = (base: number, code = 'made') =>
  `insert into app.roles (tenant_id, code, label, rank, based_on)
   select '${tenant}', '${code}', '${code}', rank, id from app.roles where id = ${base}`

it.each([
  ['adds to the own role what it lacks', add('{own}', 'company.write')],
  ['adds to a lower role what the own lacks', add('{lower}', 'company.write')],
  ['adds what it holds together with what it lacks', add('{lower}', 'customer.write', 'company.write')],
  ['adds every permission', add('{lower}', '*')],
  ['adds a permission that does not exist', add('{lower}', 'no.such')],
  ['adds what it holds to a role that permits more', add('{equal}', 'customer.write')],
  ['adds what it holds to a role of a higher rank', add('{high}', 'customer.write')],
  [
    'takes from a role what it lacks',
    `delete from app.role_permissions where role_id = {equal} and permission = 'company.write'`,
  ],
  [
    'takes what it holds from a role that permits more',
    `delete from app.role_permissions where role_id = {equal} and permission = 'vendor.manage'`,
  ],
  ['takes from every role', `delete from app.role_permissions where tenant_id = '${tenant}'`],
  [
    'takes and gives back in another role',
    `with taken as (delete from app.role_permissions where role_id = {equal} returning permission)
    insert into app.role_permissions (tenant_id, role_id, permission) select '${tenant}', {own}, permission from taken`,
  ],
  ['renames a role that permits more', `update app.roles set label = 'Mine' where id = {equal}`],
  ['hides a role that permits more', 'update app.roles set deleted_at = now() where id = {equal}'],
  ['hides a role of a higher rank', 'update app.roles set deleted_at = now() where id = {high}'],
  ['makes a role of a higher rank', make(6)],
  ['makes a role based on one that permits more', make(2)],
  [
    'makes a role, and adds what it lacks',
    make(7),
    add(`(select id from app.roles where code = 'made')`, 'company.write'),
    `update app.roles set label = label where id = {high}`,
  ],
  [
    'moves the scope to nobody, then adds',
    `select set_config('app.scope', '00' || substr(current_setting('app.scope'), 3, 32) || repeat('0', 32), true)`,
    add('{own}', 'company.write'),
  ],
])('somebody who manages members cannot: %s', async (what, ...statements) => {
  const { code, changed } = await run(statements)
  expect(['42501', 'TN430', 'TN500', '23514']).toContain(code)
  if (what === 'makes a role, and adds what it lacks') {
    const [made] = await admin<{ permissions: string[] }[]>`
      delete from app.roles where code = 'made' returning permissions`
    expect(made?.permissions).not.toContain('company.write')
  } else expect(changed).toBe(false)
})

it('somebody who manages members makes, widens, narrows, renames and hides a role within what they hold', async () => {
  for (const statement of [
    add('{lower}', 'customer.write'),
    `delete from app.role_permissions where role_id = {lower} and permission = 'vendor.manage'`,
    `update app.roles set label = 'Lower' where id = {lower}`,
    'update app.roles set deleted_at = now() where id = {lower}',
    'update app.roles set deleted_at = null where id = {lower}',
    make(7),
    `update app.roles set label = 'Made' where code = 'made'`,
  ])
    expect(await run([statement]), statement).toEqual({ code: '', changed: true })
})

it('nobody makes or changes a role without the permission to manage members', async () => {
  await admin`delete from app.role_permissions where role_id = ${ids['own'] ?? 0} and permission = 'member.manage'`
  const ticket = await ticketOf(admin, session?.id ?? '')
  await app`begin`
  await app`select app.enter_to_write(${ticket}, 'vendor.manage', false)`
  for (const statement of [
    add(String(ids['lower']), 'vendor.manage'),
    make(7),
    `update app.roles set label = 'x' where id = ${ids['lower']}`,
  ])
    expect((await attempt(app, statement)).code, statement).toBe('TN430')
  await app`rollback`
  await admin`insert into app.role_permissions (tenant_id, role_id, permission) values (${tenant}, ${ids['own'] ?? 0}, 'member.manage')`
})

const role = fc.record({ base: fc.integer({ min: 2, max: 7 }), added: fc.subarray([...PERMISSIONS]) })
const act = fc.record({
  kind: fc.constantFrom('add', 'take', 'rename', 'hide', 'make'),
  permission: fc.constantFrom(...PERMISSIONS),
})

it('the database permits for random roles what mayGive permits, and no more', async () => {
  const seen = new Set<string>()
  const sql = await admin.reserve()
  const permissionsOf = async (id: number) => {
    const [row] = await sql<{ rank: number; permissions: Permission[] }[]>`
      select rank, permissions from app.roles where id = ${id}`
    return row ?? { rank: 0, permissions: [] }
  }
  await fc.assert(
    fc.asyncProperty(role, role, act, async (actors, others, { kind, permission }) => {
      await sql`begin`
      try {
        const own = await newRole(sql, 'actors', { ...actors, added: [...new Set(actors.added).add('member.manage')] })
        const target = await newRole(sql, 'others', others)
        await sql`update app.memberships set role_id = ${own} where user_id = ${me}`
        const [holder, given, base] = [
          await permissionsOf(own),
          await permissionsOf(target),
          await permissionsOf(others.base),
        ]
        const principal = { role: { rank: holder.rank }, permissions: holder.permissions }
        const permitted =
          kind === 'make'
            ? mayGive(principal, base)
            : mayGive(principal, given) && (kind !== 'add' || holds(holder.permissions, permission))
        await sql`select app.set_tenant(${tenant}, ${me})`
        await sql`set local role identity_app`
        const { count, code } = await attempt(
          sql,
          {
            add: `${add(String(target), permission)} on conflict do nothing`,
            take: `delete from app.role_permissions where role_id = ${target}`,
            rename: `update app.roles set label = 'y' where id = ${target}`,
            hide: `update app.roles set deleted_at = now() where id = ${target}`,
            make: make(others.base, 'random'),
          }[kind],
        )
        if (kind === 'take' && others.added.length === 0) return
        expect(code, JSON.stringify({ kind, permission, actors, others, count })).toBe(permitted ? '' : 'TN430')
        seen.add(`${kind} ${permitted}`)
      } finally {
        await sql`rollback`
      }
    }),
    { numRuns: RUNS, interruptAfterTimeLimit: TIME_LIMIT_MS, endOnFailure: true },
  )
  sql.release()
  for (const kind of ['add', 'take', 'rename', 'hide', 'make'])
    expect([...seen]).toEqual(expect.arrayContaining([`${kind} true`, `${kind} false`]))
})
