import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { urlFor } from '#infra/local/postgres/database.ts'
import { checkCatalogue } from '#shared/doctor/catalogue.ts'
import { createTestDatabase } from '#tests/support/database.ts'
import { enterTenant } from './guarantee.ts'

const database = await createTestDatabase()
const sql = postgres(urlFor(inject('adminUrl'), { database: database.name }), { max: 1, onnotice: () => {} })
const [own = '', other = ''] = (await sql<{ id: string }[]>`select id from app.tenants order by slug`).map(
  ({ id }) => id,
)

afterAll(async () => {
  await sql.end()
  await database.drop()
})

const NO_EVENT_TRIGGER = 'alter event trigger guard_partitions disable'
const PARENT = [
  'set local role identity_owner',
  'create table app.planted_visits (id uuid, tenant_id uuid, at date) partition by range (at)',
]
const ENFORCED = [...PARENT, `select app.enforce_tenant('app.planted_visits')`]
const of2026 = `for values from ('2026-01-01') to ('2027-01-01')`

/** The ways to create a partition without a guard: the name of the partition, and the statements. */
const WAYS: readonly (readonly [way: string, partition: string, ...statements: string[]])[] = [
  [
    'create table … partition of',
    'app.planted_visits_2026',
    `create table app.planted_visits_2026 partition of app.planted_visits ${of2026}`,
  ],
  [
    'create table … partition of … default',
    'app.planted_rest',
    'create table app.planted_rest partition of app.planted_visits default',
  ],
  [
    'create schema … create table … partition of',
    'more.visits_2026',
    `create schema more create table visits_2026 partition of app.planted_visits ${of2026}`,
  ],
  [
    'create table … (like …), attach partition',
    'app.planted_visits_2026',
    'create table app.planted_visits_2026 (like app.planted_visits including all)',
    `alter table app.planted_visits attach partition app.planted_visits_2026 ${of2026}`,
  ],
  [
    'attach partition, of a table with grants and an open policy',
    'app.planted_visits_2026',
    'create table app.planted_visits_2026 (like app.planted_visits)',
    'create policy tenant_read on app.planted_visits_2026 using (true)',
    'alter table app.planted_visits_2026 enable row level security, force row level security',
    'grant all on app.planted_visits_2026 to public, identity_app',
    'grant select (id), update (at) on app.planted_visits_2026 to identity_worker',
    `alter table app.planted_visits attach partition app.planted_visits_2026 ${of2026}`,
  ],
  [
    'attach partition, of a guarded table with grants',
    'app.planted_visits_2026',
    'create table app.planted_visits_2026 (like app.planted_visits)',
    `select app.enforce_tenant('app.planted_visits_2026')`,
    'grant select (id) on app.planted_visits_2026 to identity_worker',
    `alter table app.planted_visits attach partition app.planted_visits_2026 ${of2026}`,
  ],
  [
    'a partition that has partitions',
    'app.planted_visits_2026',
    `create table app.planted_visits_2026 partition of app.planted_visits ${of2026} partition by list (id)`,
    'create table app.planted_visits_2026_rest partition of app.planted_visits_2026 default',
  ],
  [
    'a partition of a partition',
    'app.planted_visits_2026_rest',
    `create table app.planted_visits_2026 partition of app.planted_visits ${of2026} partition by list (id)`,
    'create table app.planted_visits_2026_rest partition of app.planted_visits_2026 default',
  ],
  [
    'attach partition, to a partition',
    'app.planted_visits_2026_rest',
    `create table app.planted_visits_2026 partition of app.planted_visits ${of2026} partition by list (id)`,
    'create table app.planted_visits_2026_rest (like app.planted_visits)',
    'alter table app.planted_visits_2026 attach partition app.planted_visits_2026_rest default',
  ],
  [
    'attach partition, of a table with a partition',
    'app.planted_visits_2026_rest',
    'create table app.planted_visits_2026 (like app.planted_visits) partition by list (id)',
    'create table app.planted_visits_2026_rest partition of app.planted_visits_2026 default',
    `alter table app.planted_visits attach partition app.planted_visits_2026 ${of2026}`,
  ],
  [
    'under default privileges that grant',
    'app.planted_visits_2026',
    'alter default privileges in schema app grant all on tables to public, identity_app',
    `create table app.planted_visits_2026 partition of app.planted_visits ${of2026}`,
  ],
  ...['disable row level security', 'no force row level security'].map(
    (lifted) =>
      [
        `alter table … ${lifted}, of a partition`,
        'app.planted_visits_2026',
        `create table app.planted_visits_2026 partition of app.planted_visits ${of2026}`,
        `select app.enforce_tenant('app.planted_visits_2026')`,
        `alter table app.planted_visits_2026 ${lifted}`,
      ] as const,
  ),
]

/** Runs statements and expectations, and rolls back. */
async function after(statements: readonly string[], expectations: () => Promise<void>): Promise<void> {
  await sql`begin`
  try {
    for (const statement of statements) await sql.unsafe(statement)
    await expectations()
  } finally {
    await sql`rollback`
  }
}

const findingsOn = async (name: string) => (await checkCatalogue(sql)).filter(({ object }) => object.startsWith(name))

const policiesOf = (name: string) => sql`
  select policyname, permissive, roles, cmd, qual, with_check from pg_policies
   where schemaname || '.' || tablename = ${name} order by 1`

const runners = [
  ['the owner', 'identity_owner'],
  ['the login that migrates', 'none'],
] as const

describe.each(runners)('guarantee 7: a partition that %s creates by plain DDL', (_who, role) => {
  describe.each(WAYS)('%s', (_way, partition, ...statements) => {
    // One way creates a schema, which the owner may not do otherwise.
    const allowed = `grant create on database ${database.name} to identity_owner`
    const created = [allowed, ...ENFORCED, `set local role ${role}`, ...statements, 'set local role none']

    test('gets the guard of its parent', () =>
      after(created, async () => {
        expect(await findingsOn(partition)).toEqual([])
        expect(await policiesOf(partition)).toEqual(await policiesOf('app.planted_visits'))
        const [owner] = await sql`
          select relowner::regrole::text as name, has_table_privilege(relowner, oid, 'select') as reads
            from pg_class where oid = ${partition}::regclass`
        expect(owner).toEqual({ name: 'identity_owner', reads: true })
      }))

    test('shows a tenant its own rows alone, even with a grant on the partition', () =>
      after(created, async () => {
        for (const tenant of [own, other]) {
          await sql`insert into app.planted_visits values (${randomUUID()}, ${tenant}, '2026-05-05')`
        }
        const [schema = ''] = partition.split('.')
        await sql.unsafe(`grant usage on schema ${schema} to identity_app`)
        await sql.unsafe(`grant select, insert on ${partition} to identity_app`)
        await sql`set local role identity_app`
        expect(await sql.unsafe(`table ${partition}`)).toEqual([])
        await enterTenant(sql, own)
        expect(await sql.unsafe(`select tenant_id from ${partition}`)).toEqual([{ tenant_id: own }])
        await expect(
          sql.unsafe(`insert into ${partition} values ($1, $2, '2026-05-05')`, [randomUUID(), other]),
        ).rejects.toMatchObject({ code: '42501' })
      }))

    test('is reported by the catalogue checks without the event trigger', () =>
      after([NO_EVENT_TRIGGER, ...created], async () => {
        expect(await findingsOn(partition)).not.toEqual([])
      }))
  })
})

describe('the event trigger guard_partitions', () => {
  const partition = `create table app.planted_visits_2026 partition of app.planted_visits ${of2026}`

  test('guards existing partitions when their parent gets the guard', () =>
    after(
      [
        ...PARENT,
        `${partition} partition by list (id)`,
        'create table app.planted_rest partition of app.planted_visits_2026 default',
      ],
      async () => {
        expect(await policiesOf('app.planted_visits_2026')).toEqual([])
        await sql`select app.enforce_tenant('app.planted_visits')`
        expect(await checkCatalogue(sql)).toEqual([])
      },
    ))

  test('guards partitions created without it as soon as their parent changes', () =>
    after([NO_EVENT_TRIGGER, ...ENFORCED, partition], async () => {
      await sql`set local role none`
      await sql`alter event trigger guard_partitions enable`
      expect(await checkCatalogue(sql)).not.toEqual([])
      await sql`alter table app.planted_visits add note text`
      expect(await checkCatalogue(sql)).toEqual([])
    }))

  test('copies the tenant column and the system rows of the parent', () =>
    after(
      [
        'set local role identity_owner',
        'create table app.planted_visits (owner_tenant uuid, at date) partition by range (at)',
        `select app.enforce_tenant('app.planted_visits', 'owner_tenant', true)`,
        partition,
      ],
      async () => {
        const policies = await policiesOf('app.planted_visits_2026')
        expect(policies).toEqual(await policiesOf('app.planted_visits'))
        expect(policies.map(({ qual }) => String(qual)).join()).toContain('(owner_tenant IS NULL)')
      },
    ))

  test('ignores partitions of a table without a guard', () =>
    after([...PARENT, partition, 'grant select on app.planted_visits_2026 to identity_worker'], async () => {
      await sql`alter table app.planted_visits add note text`
      expect(await policiesOf('app.planted_visits_2026')).toEqual([])
      expect(
        await sql`select has_table_privilege('identity_worker', 'app.planted_visits_2026', 'select') as held`,
      ).toEqual([{ held: true }])
    }))

  test.each(['disable row level security', 'no force row level security'])(
    'does not undo %s of a parent, which the catalogue checks report',
    (lifted) =>
      after([...ENFORCED, partition, `alter table app.planted_visits ${lifted}`], async () => {
        expect(await checkCatalogue(sql)).toEqual([
          { check: `row-security-not-${lifted.startsWith('no') ? 'forced' : 'enabled'}`, object: 'app.planted_visits' },
        ])
      }),
  )

  test('rejects a foreign table as a partition, which cannot have row security', () =>
    after(['create foreign data wrapper nowhere', 'create server nowhere foreign data wrapper nowhere'], async () => {
      for (const statement of ENFORCED) await sql.unsafe(statement)
      await sql`set local role none`
      await expect(
        sql.unsafe(
          `create foreign table app.planted_visits_2026 partition of app.planted_visits ${of2026} server nowhere`,
        ),
      ).rejects.toMatchObject({ code: '42809' })
    }))

  test('needs no privilege of roles that create other tables', async () => {
    await database.admin.unsafe(`grant temporary on database ${database.name} to identity_app`)
    const app = postgres(database.appUrl, { max: 1 })
    await app`create temporary table mine (id integer) partition by range (id)`
    await app`create temporary table mine_too partition of mine default`
    await app`alter table mine add note text`
    expect(await app`table mine_too`).toEqual([])
    await app.end()
  })

  test('runs with the rights of the role that runs the statement', async () => {
    expect(
      await sql`
        select prosecdef as definer, proconfig as settings, has_function_privilege('public', oid, 'execute') as open
          from pg_proc where oid = 'app.guard_partitions'::regproc`,
    ).toEqual([{ definer: false, settings: ['search_path=pg_catalog, pg_temp'], open: false }])
  })
})

test('a partition without a guard is still closed, because no grant on its parent applies to it', () =>
  after(
    [NO_EVENT_TRIGGER, ...ENFORCED, `create table app.planted_visits_2026 partition of app.planted_visits ${of2026}`],
    async () => {
      await sql`grant select on app.planted_visits to identity_app`
      await sql`set local role identity_app`
      await expect(sql.unsafe('table app.planted_visits_2026')).rejects.toMatchObject({ code: '42501' })
    },
  ))

test('the owner of another service guards its tables and partitions, and nobody else may', async () => {
  await sql`begin`
  try {
    for (const statement of [
      'create role planted_owner',
      'grant tenant_table_owner to planted_owner with inherit true',
      'create role planted_stranger',
      'create schema planted authorization planted_owner',
      'set local role planted_owner',
      'create table planted.visits (id uuid, tenant_id uuid not null default app.current_tenant(), at date) partition by range (at)',
      `select app.enforce_tenant('planted.visits')`,
      `create table planted.visits_2026 partition of planted.visits ${of2026}`,
      'set local role none',
    ])
      await sql.unsafe(statement)
    expect(await checkCatalogue(sql)).toEqual([])
    for (const [role, statement] of [
      ['planted_owner', `select app.enforce_tenant('app.styles')`],
      ['planted_owner', 'create table planted.spies (tenant_id uuid references app.tenants)'],
      ['planted_owner', `select app.enter('', null)`],
      ['planted_owner', 'select app.current_tenant()'],
      ['planted_stranger', `select app.enforce_tenant('planted.visits')`],
      ['tenant_bound', `select app.enforce_tenant('planted.visits')`],
    ] as const) {
      await sql`savepoint refused`
      await sql.unsafe(`set local role ${role}`)
      await expect(sql.unsafe(statement), `${role}: ${statement}`).rejects.toMatchObject({ code: '42501' })
      await sql`rollback to savepoint refused`
    }
  } finally {
    await sql`rollback`
  }
})
