import { randomBytes, randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { inject } from 'vitest'
import { urlFor } from '#infra/local/postgres/database.ts'
import { ACCOUNT_TABLES } from '#shared/doctor/catalogue-objects.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'

/** A tenant table, found in the catalogue, so that new tables are covered. */
export interface TenantTable {
  readonly name: string
  /** The column with the tenant's id: `id` for app.tenants. */
  readonly column: string
  /** Whether rows without a tenant exist: those of the platform. */
  readonly nullable: boolean
  /** How many rows the acting tenant has in it. */
  readonly owned: number
  /** How many rows the platform has in it. */
  readonly platform: number
}

/** A copy of the template in which two tenants have rows in every tenant table. `own` acts and must not see `other`. */
export interface TwoTenants {
  readonly database: TestDatabase
  readonly own: string
  readonly other: string
  readonly tables: readonly TenantTable[]
  readonly sessions: Sessions
  readonly users: readonly TestUser[]
  /** The partitions of the tenant tables, each with a row of both tenants. */
  readonly partitions: readonly string[]
  /** A superuser's connection, to plant faults in a transaction. */
  readonly admin: postgres.Sql
  close(): Promise<void>
}

/** An id, and the tenants in which a user of this id has a live membership. */
interface TestUser {
  readonly what: string
  readonly id: string | null
  readonly tenants: readonly string[]
}

/** Session ids: three of a user in both tenants, and one of a user in `own` alone. */
interface Sessions {
  readonly own: string
  readonly other: string
  readonly pending: string
  readonly single: string
  /** Ids that must find no session, with the reason. */
  readonly dead: readonly (readonly [why: string, id: string])[]
}

/**
 * Creates the copy. `grants`: 'as migrated', or 'every one', so that only row security protects the rows. Drops checks,
 * foreign keys and triggers, so that any row can be created and nothing else protects it.
 */
export async function createTwoTenants(grants: 'as migrated' | 'every one'): Promise<TwoTenants> {
  const database = await createTestDatabase()
  const admin = postgres(urlFor(inject('adminUrl'), { database: database.name }), { max: 1, onnotice: () => {} })
  const [own = '', other = ''] = (await admin<{ id: string }[]>`select id from app.tenants order by slug`).map(
    ({ id }) => id,
  )
  const found = await admin<{ name: string; column: string; nullable: boolean }[]>`
    select format('%I.%I', table_schema, table_name) as name, column_name as column, is_nullable = 'YES' as nullable
      from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')
       and (column_name = 'tenant_id' or (table_schema, table_name, column_name) = ('app', 'tenants', 'id'))
       and table_schema || '.' || table_name <> all (${[...ACCOUNT_TABLES]})
       and format('%I.%I', table_schema, table_name)::regclass not in (select inhrelid from pg_inherits)
     order by 1`
  await admin.unsafe(`do $$
    declare c record;
    begin
      for c in select conrelid::regclass as t, conname from pg_constraint
                where contype in ('c', 'f') and conrelid <> 0 and conparentid = 0 and conislocal and connamespace = 'app'::regnamespace
      loop
        execute format('alter table %s drop constraint %I', c.t, c.conname);
      end loop;
      for c in select tgrelid::regclass as t, tgname from pg_trigger join pg_class on pg_class.oid = tgrelid
                where not tgisinternal and tgparentid = 0 and relnamespace = 'app'::regnamespace
      loop
        execute format('drop trigger %I on %s', c.tgname, c.t);
      end loop;
    end $$`)
  const users = await makeUsers(admin, own, other)
  const partitions = await fillPartitions(admin, [own, other])
  await makeInvitations(admin, [own, other])
  const tables: TenantTable[] = []
  for (const table of found) {
    for (const tenant of [own, other, ...(table.nullable ? [null] : [])]) await ensureRow(admin, table, tenant)
    const [row = { owned: 0, platform: 0 }] = await admin.unsafe<{ owned: number; platform: number }[]>(
      `select (count(*) filter (where ${table.column} = $1))::int as owned,
              (count(*) filter (where ${table.column} is null))::int as platform from ${table.name}`,
      [own],
    )
    tables.push({ ...table, ...row })
    if (grants === 'every one') {
      await admin.unsafe(`grant select, insert, update, delete on ${table.name} to identity_app`)
    }
  }
  await admin.begin(async (tx) => {
    await tx`set local role identity_owner`
    // As hostile as a function can be: cheap, so that the planner would run it first, and not leakproof. It stores its
    // arguments in a setting that every role can read.
    await tx`
      create function app.f_leak(p_value text) returns boolean language plpgsql cost 0.0000001
        set search_path = pg_catalog, pg_temp as $$
      begin
        if strpos(current_setting('leak.seen'), coalesce(p_value, '')) = 0 then
          perform set_config('leak.seen', current_setting('leak.seen') || ' ' || p_value, true);
        end if;
        return true;
      end $$`
    await tx`grant execute on function app.f_leak(text) to identity_app`
  })
  const sessions = await makeSessions(admin, own, other)
  // A warm connection: an ended transaction has set a tenant on it.
  await admin.begin((tx) => tx`select app.set_tenant(${own})`)
  return {
    database,
    own,
    other,
    tables,
    sessions,
    users,
    partitions,
    admin,
    close: async () => {
      await admin.end()
      await database.drop()
    },
  }
}

async function makeSessions(admin: postgres.Sql, own: string, other: string): Promise<Sessions> {
  const make = async (
    email: string,
    tenant: string | null,
    {
      idle = '1 hour',
      absolute = '1 day',
      revoked = false,
    }: { idle?: string; absolute?: string; revoked?: boolean } = {},
  ): Promise<string> => {
    const [row] = await admin<{ id: string }[]>`
      insert into app.sessions (token_key, user_id, tenant_id, idle_expires_at, absolute_expires_at, csrf_secret, revoked_at)
      select ${randomBytes(32)}, u.id, ${tenant}, now() + ${idle}::interval, now() + ${absolute}::interval,
             ${randomBytes(32)}, case when ${revoked} then now() end
        from app.users u where u.email = ${email}
      returning id`
    return row?.id ?? ''
  }
  const both = 'both@shops.test'
  const [ids] = await admin<{ user: string; membership: string }[]>`
    select u.id as "user", m.id as membership from app.users u join app.memberships m on m.user_id = u.id
     where u.email = ${both} and m.tenant_id = ${own}`
  return {
    own: await make(both, own),
    other: await make(both, other),
    pending: await make(both, null),
    single: await make('owner@acme.test', own),
    dead: [
      ['made up', randomUUID()],
      ["a tenant's", own],
      ["another tenant's", other],
      ["a user's", ids?.user ?? ''],
      ["a membership's", ids?.membership ?? ''],
      ["a revoked session's", await make(both, own, { revoked: true })],
      ["an idle session's", await make(both, own, { idle: '-1 second' })],
      ["an ended session's", await make(both, own, { absolute: '-1 second' })],
      ["a disabled user's", await make('disabled@acme.test', own)],
    ],
  }
}

/** Creates users with a live membership in both tenants, in one of them, or invited to or removed from the other, and a disabled user. */
async function makeUsers(admin: postgres.Sql, own: string, other: string): Promise<TestUser[]> {
  const make = async (email: string, accepted: boolean, revoked: boolean): Promise<string> => {
    const [row] = await admin<{ id: string }[]>`
      with person as (insert into app.users (email) values (${email}) returning id)
      insert into app.memberships (tenant_id, user_id, role_id, accepted_at, revoked_at, listed_as)
      select t.tenant, person.id, 7, case when t.tenant = ${own} or ${accepted} then now() end,
             case when t.tenant = ${other} and ${revoked} then now() end, app.listed_as(null, ${email})
        from person, unnest(${[own, other]}::uuid[]) as t(tenant)
      returning user_id as id`
    return row?.id ?? ''
  }
  await admin`
    with person as (insert into app.users (email, disabled_at) values ('disabled@acme.test', now()) returning id)
    insert into app.memberships (tenant_id, user_id, role_id, accepted_at, listed_as)
    select ${own}, id, 1, now(), app.listed_as(null, 'disabled@acme.test') from person`
  const known = async (email: string): Promise<string> =>
    (await admin<{ id: string }[]>`select id from app.users where email = ${email}`)[0]?.id ?? ''
  return [
    { what: 'a user in both tenants', id: await known('both@shops.test'), tenants: [own, other] },
    { what: 'a user in the acting tenant', id: await known('owner@acme.test'), tenants: [own] },
    { what: 'a user in the other tenant', id: await known('owner@bolt.test'), tenants: [other] },
    {
      what: 'a user whom the other tenant only invited',
      id: await make('invited@shops.test', false, false),
      tenants: [own],
    },
    { what: 'a user whom the other tenant removed', id: await make('removed@shops.test', true, true), tenants: [own] },
    { what: 'a user without a tenant', id: await known('nobody@shops.test'), tenants: [] },
    { what: 'no user', id: randomUUID(), tenants: [] },
    { what: 'null', id: null, tenants: [] },
    { what: "a tenant's id", id: other, tenants: [] },
  ]
}

/** Creates an open invitation of each tenant, and tokens that are none. */
async function makeInvitations(admin: postgres.Sql, tenants: readonly string[]): Promise<void> {
  for (const tenant of tenants) {
    for (const [email, purpose, consumed] of [
      ['open@shops.test', 'invite', false],
      ['done@shops.test', 'invite', true],
      ['lost@shops.test', 'password_reset', false],
    ] as const) {
      await admin`
        insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at, consumed_at)
        values (${randomBytes(32)}, ${purpose}, ${tenant}, ${email}, 7, now() + interval '1 day',
                case when ${consumed} then now() end)`
    }
  }
}

/** Creates a row of each tenant in each partition of a tenant table, at the beginning of its range. */
async function fillPartitions(admin: postgres.Sql, tenants: readonly string[]): Promise<string[]> {
  const partitions = await admin<{ name: string; parent: string; key: string; from: string }[]>`
    select format('%I.%I', n.nspname, c.relname) as name, i.inhparent::regclass::text as parent, k.attname as key,
           coalesce(nullif(split_part(pg_get_expr(c.relpartbound, c.oid), '''', 2), ''), '1970-01-01') as "from"
      from pg_inherits i
      join pg_class c on c.oid = i.inhrelid and c.relkind = 'r'
      join pg_namespace n on n.oid = c.relnamespace
      join pg_partitioned_table p on p.partrelid = i.inhparent
      join pg_attribute k on k.attrelid = i.inhparent and k.attnum = p.partattrs[0]
     where exists (select from pg_attribute a
                    where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped)
     order by 1`
  for (const { name, parent, key, from } of partitions) {
    for (const tenant of tenants) await makeRow(admin, { name: parent, column: 'tenant_id' }, tenant, { [key]: from })
    const [row] = await admin.unsafe<{ count: number }[]>(`select count(*)::int as count from ${name}`)
    if (row?.count !== tenants.length) throw new Error(`${name} did not get a row of each tenant`)
  }
  return partitions.map(({ name }) => name)
}

/** Creates a row of a tenant unless there is one. */
async function ensureRow(
  admin: postgres.Sql,
  { name, column }: { name: string; column: string },
  tenant: string | null,
): Promise<void> {
  const [existing] = await admin.unsafe(`select from ${name} where ${column} is not distinct from $1 limit 1`, [tenant])
  if (existing === undefined) await makeRow(admin, { name, column }, tenant)
}

/** Creates a row of a tenant with the given columns, and values for the other required columns. */
async function makeRow(
  admin: postgres.Sql,
  { name, column }: { name: string; column: string },
  tenant: string | null,
  given: Readonly<Record<string, string>> = {},
): Promise<void> {
  const columns = await admin.unsafe<{ column: string; type: string; category: string; sample: string | null }[]>(
    `select quote_ident(attname) as column, format_type(atttypid, null) as type, typcategory as category,
            (select enumlabel from pg_enum where enumtypid = atttypid order by enumsortorder limit 1) as sample
       from pg_attribute join pg_type on pg_type.oid = atttypid left join pg_attrdef on adrelid = attrelid and adnum = attnum
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attname <> all ($2)
        and attnotnull and (not atthasdef or pg_get_expr(adbin, adrelid) like '%current_actor%') and attidentity = '' and attgenerated = ''`,
    [name, [column, ...Object.keys(given)]],
  )
  const values = columns.map(
    ({ type, category, sample }) => `${sample === null ? valueOf(type, category) : `'${sample}'`}::${type}`,
  )
  await admin.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    await tx.unsafe(
      `insert into ${name} (${[column, ...Object.keys(given), ...columns.map(({ column }) => column)].join(', ')})
       values (${['$1', ...Object.keys(given).map((_, n) => `$${n + 2}`), ...values].join(', ')})`,
      [tenant, ...Object.values(given)],
    )
  })
}

function valueOf(type: string, category: string): string {
  if (type === 'uuid') return 'gen_random_uuid()'
  if (type === 'bytea') return `decode(md5(random()::text) || md5(random()::text), 'hex')`
  if (type === 'json' || type === 'jsonb') return `'{}'`
  if (type === 'inet' || type === 'cidr') return `'192.0.2.1'`
  if (type === 'character') return `'x'`
  if (type === 'audit_action') return `'planted.row'`
  if (type === 'job_payload') return `'{}'`
  // Above the ids that a sequence reaches: a planted permission must not become one of a role that a test makes.
  if (type === 'integer') return '(1000000000 + random() * 30000)::integer'
  if (type === 'email_address') return `${valueOf('text', 'S')} || '@planted.test'`
  if (type === 'hash') return valueOf('bytea', category)
  const ofCategory: Readonly<Record<string, string>> = {
    A: `'{}'`,
    B: 'false',
    D: 'now()',
    N: '(random() * 30000)::integer',
    R: `'empty'`,
    S: `'x' || translate(left(md5(random()::text), 8), '0123456789', 'ghijklmnop')`,
    T: `'1 day'`,
  }
  const value = ofCategory[category]
  if (value === undefined) throw new Error(`valueOf has no value for the type ${type}: add one`)
  return value
}
