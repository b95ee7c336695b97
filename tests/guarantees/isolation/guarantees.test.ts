import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase, warmAppConnection } from '#tests/support/database.ts'
import { definerGuarantee } from './function-guarantees.ts'
import { type Guarantee } from './guarantee.ts'
import {
  invitationsGuarantee,
  lastOwnerGuarantee,
  liveSessionsGuarantee,
  revocationGuarantee,
} from './member-guarantees.ts'
import {
  appendOnlyGuarantee,
  operatorGuarantee,
  operatorSecretsGuarantee,
  queueGuarantee,
  workerGuarantee,
} from './role-guarantees.ts'
import { sealedColumnsGuarantee, sealedRowsGuarantee, vaultGuarantee } from './sealed-guarantees.ts'
import {
  afterTransactionGuarantee,
  everyTableGuarantee,
  exemptGuarantee,
  guaranteesOf,
  partitionsGuarantee,
  tenantsGuarantee,
} from './table-guarantees.ts'
import { createTwoShops } from './two-shops.ts'

/** Asks a guarantee of a superuser's connection, which becomes the roles that it needs. */
async function holdsOn(admin: postgres.Sql, { holds }: Guarantee): Promise<void> {
  await admin`begin`
  try {
    await admin`set local role identity_app`
    await holds(admin)
  } finally {
    await admin`rollback`
  }
}

const worlds = [await createTwoShops('as migrated'), await createTwoShops('every one')] as const
afterAll(async () => {
  await Promise.all(worlds.map((shops) => shops.close()))
})

describe.each([
  ['with the grants as migrated', worlds[0]],
  ['with row security alone, every grant being given', worlds[1]],
])('%s', (_grants, shops) => {
  let app: postgres.Sql
  beforeAll(async () => {
    app = await warmAppConnection(shops.database)
  })
  afterAll(async () => {
    await app.end()
  })

  const guarantees = [
    ...shops.tables.flatMap((table) => Object.values(guaranteesOf(shops, table))),
    tenantsGuarantee(shops),
    exemptGuarantee,
    invitationsGuarantee(shops),
    liveSessionsGuarantee(shops),
    everyTableGuarantee,
    partitionsGuarantee(shops),
  ]
  test.each(guarantees)('$title', async ({ holds }) => {
    await app`begin`
    try {
      await holds(app)
    } finally {
      await app`rollback`
    }
  })

  const ofRoles = [
    ...shops.definers.map((name) => definerGuarantee(shops, name)),
    workerGuarantee(shops),
    operatorGuarantee(shops),
    operatorSecretsGuarantee(shops),
    vaultGuarantee(shops),
  ]
  test.each(ofRoles)('$title', (guarantee) => holdsOn(shops.admin, guarantee))

  const unset = shops.tables.map((table) => afterTransactionGuarantee(shops, table))
  test.each(unset)('$title', async ({ holds }) => {
    await holds(app)
    const cold = postgres(shops.database.appUrl, { max: 1, onnotice: () => {} })
    await holds(cold)
    await cold.end()
  })

  const { title, holds } = revocationGuarantee(shops)
  test(title, async () => {
    const revoker = await warmAppConnection(shops.database)
    await holds(app, revoker)
    await revoker.end()
  })

  test('every tenant table was found, with rows of both shops in it', () => {
    expect(shops.tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['app.memberships', 'app.tenants']))
    expect(shops.tables.filter(({ owned }) => owned === 0)).toEqual([])
  })

  const lifted = shops.tables.flatMap(({ name }) => [
    `alter table ${name} disable row level security`,
    `alter table ${name} no force row level security`,
    `alter policy tenant_read on ${name} using (true)`,
    `drop policy tenant_read on ${name}`,
    `create policy open on ${name} using (true)`,
    `truncate ${name}`,
    `create trigger peek after insert on ${name} for each row execute function app.f_leak()`,
    `select app.enforce_tenant('${name}')`,
    `set local row_security = off; table ${name}`,
  ])
  test.each([
    ...lifted,
    'set local role identity_owner',
    'set local role identity_resolver',
    'set local role identity_worker',
    'set local role identity_operator',
    'set local role identity_vault',
    'set local session authorization postgres',
    `select app.create_audit_partition('2040-01-01')`,
    'alter role identity_app bypassrls',
    'grant identity_owner to identity_app',
    'create table app.mine (id integer)',
    'create view app.mine as select 1',
    'create or replace function app.current_tenant() returns uuid language sql return null',
    'create schema mine',
  ])('guarantee 7: the Lambdas may not lift a guard: %s', async (statement) => {
    await app`begin`
    await expect(app.unsafe(statement)).rejects.toMatchObject({ code: '42501' })
    await app`rollback`
  })

  test.each(shops.tables)('guarantee 2: $name takes no rows by COPY', async ({ name }) => {
    await app`begin`
    await expect(app.unsafe(`copy ${name} from stdin`)).rejects.toMatchObject({
      code: expect.stringMatching(/^(0A000|42501)$/),
    })
    await app`rollback`
  })

  test('guarantee 4: a tenant that is no id is an error, and never every row', async () => {
    for (const tenant of ['*', '%', 'null', "' or true --", `${shops.own},${shops.other}`]) {
      await app`begin`
      await app`select set_config('app.tenant_id', ${tenant}, true)`
      await expect(app.unsafe('select from app.memberships')).rejects.toMatchObject({ code: '22P02' })
      await app`rollback`
    }
  })
})

describe('with the grants as migrated', () => {
  const [shops] = worlds
  test.each([queueGuarantee(shops), appendOnlyGuarantee(shops), sealedColumnsGuarantee(shops)])('$title', (guarantee) =>
    holdsOn(shops.admin, guarantee),
  )
})

describe('a shop', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.drop())

  test('keeps its last owner', async () => {
    const admin = await database.admin.reserve()
    for (const { id } of await admin<{ id: string }[]>`select id from app.tenants`) {
      await holdsOn(admin, lastOwnerGuarantee(id))
    }
    admin.release()
  })

  test("has its secrets under its own keys: nothing under another's, and no version goes back", async () => {
    const admin = await database.admin.reserve()
    const [own = '', other = ''] = (await admin<{ id: string }[]>`select id from app.tenants`).map(({ id }) => id)
    await holdsOn(admin, sealedRowsGuarantee([own, other]))
    admin.release()
  })
})

describe('letters of either case', () => {
  let database: TestDatabase
  let app: postgres.Sql
  beforeAll(async () => {
    database = await createTestDatabase()
    app = await warmAppConnection(database)
  })
  afterAll(async () => {
    await app.end()
    await database.drop()
  })

  test('two emails that differ by case collide', async () => {
    const insert = (email: string) => app`insert into app.users (id, email) values (${randomUUID()}, ${email})`
    await insert('Ada.Lovelace@Shops.test')
    await expect(insert('ada.lovelace@shops.test')).rejects.toMatchObject({
      code: '23505',
      constraint_name: 'users_email_key',
    })
    await expect(insert('ADA.LOVELACE@SHOPS.TEST')).rejects.toMatchObject({ code: '23505' })
    const [found] = await app`select email from app.users where email = ${'aDA.lOVELACE@sHOPS.tEST'}`
    expect(found).toEqual({ email: 'Ada.Lovelace@Shops.test' })
  })

  test('two slugs that differ by case collide', async () => {
    const insert = (slug: string) => database.admin`insert into app.tenants (slug, legal_name) values (${slug}, 'Shop')`
    await insert('Case-Shop')
    await expect(insert('case-shop')).rejects.toMatchObject({ code: '23505' })
    await expect(
      database.admin`update app.tenants set slug = 'CASE-shop' where slug = 'acme-print'`,
    ).rejects.toMatchObject({
      code: '23505',
    })
    const [found] = await database.admin`select slug from app.tenants where slug = 'CASE-SHOP'`
    expect(found).toEqual({ slug: 'Case-Shop' })
  })

  test('letters that only look alike are not the same, since no other than ASCII is let in', async () => {
    // U+212A, the Kelvin sign, is a k without its case.
    await expect(
      app`insert into app.users (id, email) values (${randomUUID()}, ${'\u212Aim@shops.test'})`,
    ).rejects.toMatchObject({
      code: '23514',
    })
    await expect(
      database.admin`insert into app.tenants (slug, legal_name) values (${'\u212Aim'}, 'Shop')`,
    ).rejects.toMatchObject({ code: '23514' })
  })
})

describe('with 20 000 tenants, users, memberships and sessions', () => {
  let database: TestDatabase
  let app: postgres.Sql
  const own = '00000000-0000-4000-8000-000000010000'
  /** How many more work in that shop. */
  const STAFF = 19_000

  beforeAll(async () => {
    database = await createTestDatabase()
    await database.admin.begin(async (tx) => {
      await tx`
        insert into app.tenants (id, slug, legal_name)
        select format('00000000-0000-4000-8000-%s', lpad(n::text, 12, '0'))::uuid, 'shop-' || n, 'Shop ' || n
          from generate_series(1, 20000) n`
      await tx`
        insert into app.users (id, email)
        select format('10000000-0000-4000-8000-%s', lpad(n::text, 12, '0'))::uuid, 'user-' || n || '@many.test'
          from generate_series(1, 20000) n`
      await tx`
        insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
        select format('00000000-0000-4000-8000-%s', lpad(n::text, 12, '0'))::uuid,
               format('10000000-0000-4000-8000-%s', lpad(n::text, 12, '0'))::uuid, 1, now()
          from generate_series(1, 20000) n`
      await tx`
        insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
        select ${own}, format('10000000-0000-4000-8000-%s', lpad(n::text, 12, '0'))::uuid, 7, now()
          from generate_series(751, 750 + ${STAFF}::integer) n on conflict do nothing`
      await tx`
        insert into app.sessions (id, token_key, user_id, tenant_id, idle_expires_at, absolute_expires_at, csrf_secret)
        select m.id, decode(md5(m.id::text) || md5(m.id::text), 'hex'), m.user_id, m.tenant_id,
               now() + interval '1 hour', now() + interval '1 day', decode(repeat('00', 32), 'hex')
          from app.memberships m`
    })
    await database.admin`analyze app.tenants, app.users, app.memberships, app.sessions`
    app = await warmAppConnection(database)
  })
  afterAll(async () => {
    await app.end()
    await database.drop()
  })

  test.each([
    ["users by email, in other letters' case", `select * from app.users where email = 'USER-777@many.test'`, 1],
    ['the own tenant by slug', `select * from app.tenants where slug = 'SHOP-10000'`, 1],
    ["another's tenant by slug", `select * from app.tenants where slug = 'shop-10001'`, 0],
    ['memberships by user', `select * from app.memberships where user_id = '10000000-0000-4000-8000-000000000777'`, 1],
    [
      'live sessions by id',
      `select * from app.live_sessions where session_id = (
         select id from app.sessions where user_id = '10000000-0000-4000-8000-000000000777'
            and tenant_id = '${own}' and revoked_at is null)`,
      1,
    ],
  ])('an index serves %s', async (_what, query, rows) => {
    await app`begin`
    await app`select app.set_tenant(${own})`
    const plan = (await app.unsafe<{ 'QUERY PLAN': string }[]>(`explain (analyze, timing off) ${query}`))
      .map((line) => line['QUERY PLAN'])
      .join('\n')
    const found = await app.unsafe(query)
    await app`rollback`
    expect(found.count).toBe(rows)
    expect(plan).toMatch(/Index (Only )?Scan|Bitmap Index Scan/)
    // The roles are seven rows on one page.
    expect(plan).not.toMatch(/Seq Scan on (?!roles|role_permissions)/)
    const removed = [...plan.matchAll(/Rows Removed by Filter: (\d+)/g)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    )
    expect(removed, plan).toBeLessThan(100)
  })
})
