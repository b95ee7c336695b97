import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createTestDatabase, type TestDatabase, warmAppConnection } from '#tests/support/database.ts'
import { ticketFor } from '#tests/support/proof.ts'
import { DEFINER_NAMES, definerGuarantee } from './function-guarantees.ts'
import { actorGuarantee } from './gate-guarantees.ts'
import { entersBy, holdsAfter } from './guarantee.ts'
import {
  invitationsGuarantee,
  lastOwnerGuarantee,
  liveSessionsGuarantee,
  revocationGuarantee,
} from './member-guarantees.ts'
import { credentialGuarantee } from './passkey-guarantees.ts'
import {
  accountsGuarantee,
  provenGuarantee,
  appendOnlyGuarantee,
  endsOnceGuarantee,
  operatorGuarantee,
  operatorSecretsGuarantee,
  queueGuarantee,
  workerGuarantee,
} from './role-guarantees.ts'
import { sealedColumnsGuarantee, sealedRowsGuarantee, vaultGuarantee } from './sealed-guarantees.ts'
import { SIGN_IN_RACES } from './sign-in-races.ts'
import {
  afterTransactionGuarantee,
  everyTableGuarantee,
  exemptGuarantee,
  guaranteesOf,
  partitionsGuarantee,
  tenantsGuarantee,
} from './table-guarantees.ts'
import { createTwoTenants } from './two-tenants.ts'

const worlds = [await createTwoTenants('as migrated'), await createTwoTenants('every one')] as const
afterAll(async () => {
  await Promise.all(worlds.map((world) => world.close()))
})

describe.each([
  ['with the grants of the migrations', worlds[0]],
  ['with every grant, so that only row security protects', worlds[1]],
])('%s', (_grants, world) => {
  let app: postgres.Sql
  beforeAll(async () => {
    app = await warmAppConnection(world.database)
    entersBy(app, world.admin)
  })
  afterAll(async () => {
    await app.end()
  })

  const guarantees = [
    ...world.tables.flatMap((table) => Object.values(guaranteesOf(world, table))),
    tenantsGuarantee(world),
    exemptGuarantee,
    invitationsGuarantee(world),
    everyTableGuarantee,
    partitionsGuarantee(world),
  ]
  test.each(guarantees)('$title', async ({ holds }) => {
    await app`begin`
    try {
      await holds(app)
    } finally {
      await app`rollback`
    }
  })

  // The functions run as their owners, so other grants change little: npm test holds them with those of the migrations alone.
  const ofRoles = [
    ...DEFINER_NAMES.map((name) => definerGuarantee(world, name)),
    workerGuarantee(world),
    operatorGuarantee(world),
    operatorSecretsGuarantee(world),
    vaultGuarantee(world),
    accountsGuarantee(world),
    actorGuarantee(world),
    provenGuarantee(world, 'identity_auth'),
    provenGuarantee(world, 'identity_services'),
    provenGuarantee(world, 'identity_mailer'),
    provenGuarantee(world, 'identity_publisher'),
    provenGuarantee(world, 'identity_opener'),
    liveSessionsGuarantee(world),
    credentialGuarantee(world),
  ]
  test.runIf(world === worlds[0] || inject('thorough')).each(ofRoles)('$title', (guarantee) =>
    holdsAfter(world.admin, [], guarantee),
  )

  const unset = world.tables.map((table) => afterTransactionGuarantee(world, table))
  test.each(unset)('$title', async ({ holds }) => {
    await holds(app)
    const cold = postgres(world.database.appUrl, { max: 1, onnotice: () => {} })
    await holds(cold)
    await cold.end()
  })

  const { title, holds } = revocationGuarantee(world)
  test(title, async () => {
    const revoker = await warmAppConnection(world.database)
    await holds(app, revoker)
    await revoker.end()
  })

  test('the fixture finds every tenant table, with rows of both tenants', () => {
    expect(world.tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['app.memberships', 'app.tenants']))
    expect(world.tables.filter(({ owned }) => owned === 0)).toEqual([])
  })

  const lifted = world.tables.flatMap(({ name }) => [
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
    'set local role identity_gate',
    `select app.set_tenant('${world.other}')`,
    'select app.renew_seal()',
    'table app.seal',
    `select app.seal_ticket('operator', '${world.other}', p_may_write => true)`,
    `select app.operator_ticket('${world.other}', 'curious')`,
    'set local role identity_mailer',
    'set local role identity_worker',
    'set local role identity_operator',
    'set local role identity_vault',
    'set local session authorization postgres',
    `select app.create_audit_partition('2040-01-01')`,
    'alter role identity_app bypassrls',
    'grant identity_owner to identity_app',
    'create table app.planted_mine (id integer)',
    'create view app.planted_mine as select 1',
    'create or replace function app.current_tenant() returns uuid language sql return null',
    'create schema mine',
  ])('guarantee 7: identity_app may not remove a guard: %s', async (statement) => {
    await app`begin`
    await expect(app.unsafe(statement)).rejects.toMatchObject({ code: '42501' })
    await app`rollback`
  })

  test.each(world.tables)('guarantee 2: $name rejects COPY FROM', async ({ name }) => {
    await app`begin`
    await expect(app.unsafe(`copy ${name} from stdin`)).rejects.toMatchObject({
      code: expect.stringMatching(/^(0A000|42501)$/),
    })
    await app`rollback`
  })

  test('guarantee 4: rejects a scope that the transaction did not enter, and never shows every row', async () => {
    const scope = world.other.replaceAll('-', '')
    for (const setting of ['*', '%', 'null', "' or true --", `${world.own},${world.other}`, scope, scope.repeat(2)]) {
      for (const seal of ['', '00', '00'.repeat(32)]) {
        await app`begin`
        await app`select set_config('app.scope', ${setting}, true), set_config('app.scope_seal', ${seal}, true)`
        await expect(app.unsafe('select from app.memberships')).rejects.toMatchObject({ code: 'TN500' })
        await app`rollback`
      }
    }
  })
})

describe('with the grants of the migrations', () => {
  const [world] = worlds
  test.each(SIGN_IN_RACES)('$title', ({ holds }) => holds(world))

  test.each([queueGuarantee(world), appendOnlyGuarantee(world), sealedColumnsGuarantee(world)])('$title', (guarantee) =>
    holdsAfter(world.admin, [], guarantee),
  )
})

describe('constraints and triggers', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.drop())

  test('keep the last owner of every tenant', async () => {
    const admin = await database.admin.reserve()
    for (const { id } of await admin<{ id: string }[]>`select id from app.tenants`) {
      await holdsAfter(admin, [], lastOwnerGuarantee(id))
    }
    admin.release()
  })

  test('keep ended sessions, consumed tokens and the expiry of a link', async () => {
    const admin = await database.admin.reserve()
    await holdsAfter(admin, [], endsOnceGuarantee)
    admin.release()
  })

  test("reject secrets under another tenant's key, and a lower secret version", async () => {
    const admin = await database.admin.reserve()
    const [own = '', other = ''] = (await admin<{ id: string }[]>`select id from app.tenants`).map(({ id }) => id)
    await holdsAfter(admin, [], sealedRowsGuarantee([own, other]))
    admin.release()
  })
})

describe('case-insensitive columns', () => {
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

  test('reject an email that differs from another only by case', async () => {
    const insert = (email: string) =>
      database.admin`insert into app.users (id, email) values (${randomUUID()}, ${email})`
    await insert('Ada.Lovelace@Example.test')
    await expect(insert('ada.lovelace@example.test')).rejects.toMatchObject({
      code: '23505',
      constraint_name: 'users_email_key',
    })
    await expect(insert('ADA.LOVELACE@EXAMPLE.TEST')).rejects.toMatchObject({ code: '23505' })
    const [found] = await database.admin`select email from app.users where email = ${'aDA.lOVELACE@eXAMPLE.tEST'}`
    expect(found).toEqual({ email: 'Ada.Lovelace@Example.test' })
  })

  test('reject a slug that differs from another only by case', async () => {
    const insert = (slug: string) =>
      database.admin`insert into app.tenants (slug, legal_name) values (${slug}, 'Tenant')`
    await insert('Case-Slug')
    await expect(insert('case-slug')).rejects.toMatchObject({ code: '23505' })
    await expect(
      database.admin`update app.tenants set slug = 'CASE-slug' where slug = 'acme-print'`,
    ).rejects.toMatchObject({
      code: '23505',
    })
    const [found] = await database.admin`select slug from app.tenants where slug = 'CASE-SLUG'`
    expect(found).toEqual({ slug: 'Case-Slug' })
  })

  test('reject letters outside ASCII, which could look like another', async () => {
    // U+212A, the Kelvin sign, is a k in lower case.
    await expect(
      database.admin`insert into app.users (id, email) values (${randomUUID()}, ${'\u212Aim@example.test'})`,
    ).rejects.toMatchObject({
      code: '23514',
    })
    await expect(
      database.admin`insert into app.tenants (slug, legal_name) values (${'\u212Aim'}, 'Tenant')`,
    ).rejects.toMatchObject({ code: '23514' })
  })
})

describe('with 20 000 tenants, users, memberships and sessions', () => {
  let database: TestDatabase
  let app: postgres.Sql
  const own = '00000000-0000-4000-8000-000000010000'
  /** How many more users work in that tenant. */
  const STAFF = 19_000

  beforeAll(async () => {
    database = await createTestDatabase()
    await database.admin.begin(async (tx) => {
      await tx`
        insert into app.tenants (id, slug, legal_name)
        select format('00000000-0000-4000-8000-%s', lpad(n::text, 12, '0'))::uuid, 'tenant-' || n, 'Tenant ' || n
          from generate_series(1, 20000) n`
      await tx`
        insert into app.users (id, email, full_name)
        select format('10000000-0000-4000-8000-%s', lpad(n::text, 12, '0'))::uuid, 'user-' || n || '@many.test',
               'Person ' || n % 10
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
    ['app.users', `email < 'user-1@many.test'`, `email < 'user-9@many.test'`],
    ['app.users', `full_name = 'Person 7'`, `full_name = 'Nobody'`],
    ['app.tenants', `slug < 'tenant-1'`, `slug < 'tenant-9'`],
  ])('the estimates for %s are the same for %s and %s', async (table, ...conditions) => {
    const estimates: number[] = []
    for (const condition of conditions) {
      const [plan] = await app.unsafe(`explain (format json) select from ${table} where ${condition}`)
      estimates.push(plan?.['QUERY PLAN'][0].Plan['Plan Rows'])
    }
    expect(estimates[0]).toBe(estimates[1])
  })

  test.each([
    ['users by email in another case', `select id from app.users where email = 'USER-777@many.test'`, 1],
    ['the own tenant by slug', `select * from app.tenants where slug = 'TENANT-10000'`, 1],
    ["another's tenant by slug", `select * from app.tenants where slug = 'tenant-10001'`, 0],
    ['memberships by user', `select * from app.memberships where user_id = '10000000-0000-4000-8000-000000000777'`, 1],
  ])('an index serves %s, and few rows are read in vain', async (_what, query, rows) => {
    await app`begin`
    await app`select app.enter_to_write(${await ticketFor(database.admin, own)}, null, false)`
    await expectIndexed(app, query, rows)
  })

  test('an index serves live sessions by id, and few rows are read in vain', async () => {
    const admin = await database.admin.reserve()
    await admin`begin`
    await admin`set local role identity_gate`
    const query = `select * from app.live_sessions where session_id = (
      select id from app.sessions where user_id = '10000000-0000-4000-8000-000000000777' and tenant_id = '${own}' and revoked_at is null)`
    await expectIndexed(admin, query, 1)
    admin.release()
  })

  /** Runs the query in a transaction that has begun, and rolls back. */
  async function expectIndexed(app: postgres.Sql, query: string, rows: number) {
    const plan = (await app.unsafe<{ 'QUERY PLAN': string }[]>(`explain (analyze, timing off) ${query}`))
      .map((line) => line['QUERY PLAN'])
      .join('\n')
    const found = await app.unsafe(query)
    await app`rollback`
    expect(found.count).toBe(rows)
    expect(plan).toMatch(/Index (Only )?Scan|Bitmap Index Scan/)
    // app.roles has seven rows on one page.
    expect(plan).not.toMatch(/Seq Scan on (?!roles|role_permissions)/)
    const removed = [...plan.matchAll(/Rows Removed by Filter: (\d+)/g)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    )
    expect(removed, plan).toBeLessThan(100)
  }
})
