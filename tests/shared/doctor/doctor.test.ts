import { fileURLToPath } from 'node:url'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomBytes, randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { urlFor } from '#infra/local/postgres/database.ts'
import { assertHealthy, examine, examineWithin, inOneLine } from '#shared/doctor/doctor.ts'
import { loginName } from '#shared/db/role-settings.ts'
import { SERVICE_ROLES } from '#shared/base/needs.ts'
import type { Diagnosis } from '#shared/doctor/diagnosis.ts'
import { createTestDatabase } from '#tests/support/database.ts'

const MIGRATIONS = fileURLToPath(new URL('../../../migrations/', import.meta.url))

const database = await createTestDatabase()
const url = urlFor(inject('adminUrl'), { database: database.name })
const admin = postgres(url, { max: 1, onnotice: () => {} })

/** A login without privileges. It may connect and read the catalogue. */
const OUTSIDER = `outsider_${randomUUID().replaceAll('-', '')}`
const outsiderUrl = urlFor(url, { user: OUTSIDER, password: 'outsider' })

beforeAll(async () => {
  await admin.unsafe(`create role ${OUTSIDER} login password 'outsider'`)
})
afterAll(async () => {
  await admin.unsafe(`drop role ${OUTSIDER}`)
  await admin.end()
  await database.drop()
})

const faultsOf = (diagnoses: readonly Diagnosis[]) => diagnoses.filter(({ severity }) => severity === 'fault')
const named = (diagnoses: readonly Diagnosis[]) => [
  ...new Set(diagnoses.map(({ check, object }) => `${check}: ${object}`)),
]

// Roles belong to the cluster, and other files make services at the same time.
const OF_OTHER_FILES = new Set(['service-timeout', 'service-set-option'])

/** Examines after the statements and rolls them back. With `repairs`, runs the repairs that are SQL and examines again. */
async function found(statements: readonly string[], { repairs = false, folder = MIGRATIONS } = {}) {
  let before: Diagnosis[] = []
  let after: Diagnosis[] = []
  const undo = new Error('roll back')
  await admin
    .begin(async (tx) => {
      for (const statement of statements) await tx.unsafe(statement)
      before = await examineWithin(tx, folder)
      if (repairs) {
        for (const { repair, check } of before)
          if (repair.endsWith(';') && !OF_OTHER_FILES.has(check)) await tx.unsafe(repair)
        after = await examineWithin(tx, folder)
      }
      throw undo
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error
    })
  return { before, after }
}

const NOTES = [
  'set local role identity_owner',
  'create table app.planted_notes (id uuid primary key, tenant_id uuid not null references app.tenants)',
]
const COUNT = 'create function app.planted_count_tenants() returns bigint language sql security definer'

/** Planted faults, the findings that each must give, and whether their SQL repairs everything. */
const PLANTED: readonly {
  readonly what: string
  readonly plant: readonly string[]
  readonly names: readonly string[]
  readonly repairs?: boolean
}[] = [
  {
    what: 'a partition created by hand without the event trigger',
    plant: [
      'alter event trigger guard_partitions disable',
      'set local role identity_owner',
      "create table app.audit_log_1999 partition of app.audit_log for values from ('1999-01-01') to ('2000-01-01')",
    ],
    names: [
      'row-security-not-enabled: app.audit_log_1999',
      'row-security-not-forced: app.audit_log_1999',
      'row-security-without-policy: app.audit_log_1999',
    ],
    repairs: true,
  },
  {
    what: 'a view that reads as its owner',
    plant: ['set local role identity_owner', 'create view app.planted_everyone as select * from app.memberships'],
    names: ['view-without-invoker: app.planted_everyone'],
    repairs: true,
  },
  {
    what: 'a grant on a partition',
    plant: ['grant select on app.audit_log_default to identity_app'],
    names: ['grant-on-partition: app.audit_log_default', 'grant-not-listed: app.audit_log_default'],
    repairs: true,
  },
  {
    what: 'a policy that is always true',
    plant: ['create policy open on app.styles for select to identity_app using (true)'],
    names: [
      'policy-always-true: app.styles open',
      'policy-ignores-tenant: app.styles open',
      'policy-admits-other-tenants: app.styles open',
    ],
  },
  {
    what: 'a permissive policy beside those of the guard',
    plant: ["create policy samples on app.styles for select to identity_app using (brand = 'Sample')"],
    names: ['policy-ignores-tenant: app.styles samples', 'policy-admits-other-tenants: app.styles samples'],
  },
  {
    what: 'a policy of the guard that was widened',
    plant: [
      'alter policy tenant_read on app.styles using (tenant_id = (select app.current_tenant()) or tenant_id is null)',
    ],
    names: ['policy-admits-other-tenants: app.styles tenant_read'],
    repairs: true,
  },
  {
    what: 'row security that is not forced',
    plant: ['alter table app.tenants no force row level security'],
    names: ['row-security-not-forced: app.tenants'],
    repairs: true,
  },
  {
    what: 'row security that is off',
    plant: ['alter table app.memberships disable row level security'],
    names: ['row-security-not-enabled: app.memberships'],
    repairs: true,
  },
  {
    what: 'a tenant table without a guard',
    plant: NOTES,
    names: [
      'row-security-not-enabled: app.planted_notes',
      'row-security-not-forced: app.planted_notes',
      'row-security-without-policy: app.planted_notes',
    ],
    repairs: true,
  },
  {
    what: 'a table whose name needs quotes',
    plant: ['set local role identity_owner', 'create table app."Odd; name" (id uuid primary key, tenant_id uuid)'],
    names: [
      'row-security-not-enabled: app."Odd; name"',
      'row-security-not-forced: app."Odd; name"',
      'row-security-without-policy: app."Odd; name"',
    ],
    repairs: true,
  },
  {
    what: 'BYPASSRLS on a role of the service',
    plant: ['alter role identity_app bypassrls'],
    names: ['role-attribute: identity_app'],
    repairs: true,
  },
  {
    what: 'membership of a role of the service in another',
    plant: ['grant identity_owner to identity_app'],
    names: ['role-membership: identity_app'],
    repairs: true,
  },
  {
    what: 'a SECURITY DEFINER function that is not listed',
    plant: [
      'set local role identity_owner',
      `${COUNT} set search_path = pg_catalog, pg_temp set client_min_messages = warning return (select count(*) from app.tenants)`,
    ],
    names: ['definer-not-listed: app.planted_count_tenants()'],
  },
  {
    what: 'functions that lost their check',
    plant: [
      `create or replace function app.current_tenant() returns uuid language plpgsql stable parallel safe security definer
         as $$ begin return substr(current_setting('app.scope', true), 3, 32); end $$`,
      `create or replace function app.refuse_change() returns trigger language plpgsql set search_path = pg_catalog, pg_temp
         as $$ begin return new; end $$`,
      `alter policy actor_insert on app.audit_log with check (true)`,
    ],
    names: [
      'actor-not-checked: app.audit_log',
      'function-changed: app.current_tenant()',
      'function-changed: app.refuse_change()',
    ],
  },
  {
    what: 'default privileges for PUBLIC',
    plant: ['alter default privileges for role identity_owner in schema app grant select on tables to public'],
    names: ['default-privileges: identity_owner in app'],
  },
  {
    what: 'a materialized view of tenant rows',
    plant: [
      'set local role identity_owner',
      'create materialized view app.planted_kept as select * from app.memberships',
    ],
    names: ['materialized-view: app.planted_kept'],
    repairs: true,
  },
  {
    what: 'a foreign key without the tenant',
    plant: [
      ...NOTES,
      "select app.enforce_tenant('app.planted_notes')",
      'alter table app.planted_notes add membership uuid, add foreign key (membership) references app.memberships (id)',
    ],
    names: ['foreign-key-without-tenant: app.planted_notes planted_notes_membership_fkey'],
  },
  {
    what: 'TRUNCATE granted to identity_app',
    plant: ['grant truncate on app.styles to identity_app'],
    names: ['privilege-past-row-security: app.styles', 'grant-not-listed: app.styles'],
    repairs: true,
  },
  {
    what: 'grants that the list does not have',
    plant: [
      'grant select (password_hash) on app.users to identity_worker',
      'grant execute on function app.lock_user(uuid) to identity_worker',
      'grant create on schema app to identity_app',
    ],
    names: ['grant-not-listed: app.users', 'grant-not-listed: app.lock_user(uuid)', 'grant-not-listed: app'],
    repairs: true,
  },
  {
    what: 'missing grants',
    plant: [
      'revoke select on app.tenants from identity_app',
      'revoke update (settings) on app.tenants from identity_app',
      'revoke execute on function app.enter_to_read(bytea) from identity_app',
      'revoke usage on schema app from identity_worker',
    ],
    names: ['grant-missing: app.tenants', 'grant-missing: app.enter_to_read(bytea)', 'grant-missing: app'],
    repairs: true,
  },
  {
    what: 'a grant to PUBLIC',
    plant: ['grant select on app.users to public', 'grant usage on schema app to public'],
    names: ['grant-to-public: app', 'grant-to-public: app.users'],
    repairs: true,
  },
  {
    what: 'a role with other settings than the migrations give it',
    plant: [
      'alter role identity_app reset statement_timeout',
      'alter role identity_auth reset search_path',
      'alter role identity_app set default_transaction_read_only = on',
      "alter role identity_worker set lock_timeout = '0ms'",
      'alter role identity_mailer reset lock_timeout',
      'alter role identity_services reset statement_timeout',
      'alter role identity_publisher reset statement_timeout',
      'alter role identity_opener reset statement_timeout',
      `alter role identity_operator in database ${database.name} set row_security = off`,
      'alter role identity_vault reset all',
    ],
    names: SERVICE_ROLES.map((role) => `role-setting: ${loginName(role)}`),
    repairs: true,
  },
  {
    what: 'a role that may create temporary objects or schemas',
    plant: [
      `grant temporary on database ${database.name} to public`,
      `grant temporary, create on database ${database.name} to identity_vault`,
    ],
    names: [`database-privilege: ${database.name}`],
    repairs: true,
  },
  {
    what: "another service's table without its guard, and a login that passes it",
    plant: [
      'create role planted_orders login',
      'grant tenant_bound to planted_orders with inherit true',
      'create schema planted',
      'create table planted.orders (id uuid primary key, tenant_id uuid not null)',
      'grant select, insert, truncate on planted.orders to planted_orders',
      'alter role planted_orders bypassrls',
      'grant select on app.styles to planted_orders',
    ],
    names: [
      'privilege-past-row-security: planted.orders',
      'role-attribute: planted_orders',
      'row-security-not-enabled: planted.orders',
      'row-security-not-forced: planted.orders',
      'row-security-without-policy: planted.orders',
      'service-reaches-app: app.styles',
    ],
    repairs: true,
  },
  {
    what: 'an invalid index',
    plant: ["update pg_index set indisvalid = false where indexrelid = 'app.jobs_due'::regclass"],
    names: ['index-invalid: app.jobs_due'],
  },
  {
    what: 'a role whose permissions were not computed',
    plant: [
      'set local session_replication_role = replica',
      "update app.roles set permissions = '[]' where code = 'sales'",
      'set local session_replication_role = origin',
    ],
    names: ['role-permissions: app.roles'],
    repairs: true,
  },
  {
    what: 'a session that leaves out the second factor of its user, and a function that could create one',
    plant: [
      'create schema planted',
      `create function planted.support() returns void language plpgsql as $$ begin INSERT INTO app.sessions default values; end $$`,
      // Its own table is of another service.
      `create function planted.own() returns void language plpgsql as $$ begin insert into planted.sessions default values; end $$`,
      `insert into app.users (id, email) values ('00000000-0000-7000-8000-00000000f001', 'factor@doctor.test')`,
      `insert into app.sessions (token_key, user_id, csrf_secret, idle_expires_at, absolute_expires_at)
       values (sha256('t'), '00000000-0000-7000-8000-00000000f001', sha256('c'), 'infinity', 'infinity')`,
      `insert into app.factors (id, user_id, kind, name, key_id, witness_hash, sealed_secret, last_step)
       values (gen_random_uuid(), '00000000-0000-7000-8000-00000000f001', 'totp', 'App', gen_random_uuid(), sha256('w'), sha256('s'), 0)`,
    ],
    names: ['session-inserter: planted.support()', 'second-factor-left-out: app.sessions'],
    repairs: true,
  },
]

describe('the doctor as a superuser', () => {
  it('finds no fault in a migrated database', async () => {
    const found = await examine(admin, MIGRATIONS)
    expect(faultsOf(found)).toEqual([])
    expect(named(found)).not.toContain('partitions-ahead: app.audit_log')
    await expect(assertHealthy(admin, MIGRATIONS)).resolves.toBeInstanceOf(Array)
  })

  it.each(PLANTED)('reports $what, and nothing else', async ({ plant, names, repairs = false }) => {
    const { before, after } = await found(plant, { repairs })
    expect(named(faultsOf(before)).toSorted()).toEqual(names.toSorted())
    for (const diagnosis of before) {
      expect(inOneLine(diagnosis)).toMatch(/^\S.*: \S.*\. Repair: \S/)
      expect(inOneLine(diagnosis)).not.toMatch(/undefined|null|\n/)
    }
    if (repairs) expect(faultsOf(after)).toEqual([])
  })

  it('warns of a revocation that can end nothing, and stops no deployment for it', async () => {
    const { before, after } = await found(['revoke pg_signal_backend from identity_ender'], { repairs: true })
    expect(named(before)).toContain('revocation-power: identity_ender')
    expect(faultsOf(before)).toEqual([])
    expect(named(after)).not.toContain('revocation-power: identity_ender')
  })

  it('stops a deployment with the list of faults', async () => {
    const sql = postgres(url, { max: 1 })
    await admin`alter table app.styles no force row level security`
    await expect(assertHealthy(sql, MIGRATIONS)).rejects.toMatchObject({
      name: 'UnhealthyDatabase',
      message: expect.stringMatching(
        /1 fault:\napp\.styles: .* Repair: select app\.enforce_tenant\('app\.styles', p_system_rows => true\);/,
      ),
    })
    await admin`alter table app.styles force row level security`
    await sql.end()
  })

  it('reports migrations that changed, are missing or were not applied', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tenantry-doctor-'))
    await cp(MIGRATIONS, folder, { recursive: true })
    await writeFile(join(folder, '0003-tenants.sql'), 'select 1')
    await rm(join(folder, '0013-catalog.sql'))
    await writeFile(join(folder, '0013-other.sql'), 'select 1')
    const { before } = await found([], { folder })
    expect(faultsOf(before)).toEqual([
      expect.objectContaining({ object: '0003-tenants.sql', fault: expect.stringContaining('changed') }),
      expect.objectContaining({ object: '0013-catalog.sql', fault: expect.stringContaining('missing') }),
      expect.objectContaining({ object: '0013-other.sql', fault: expect.stringContaining('not applied') }),
    ])
    await rm(folder, { recursive: true })
  })

  it('warns of dead-lettered jobs, rows in the default partition, a missing month, a changed comment, and logins that no row security binds', async () => {
    const { before } = await found([
      "insert into app.jobs (kind, payload, idempotency_key, dead_at) values ('send-mail', '{}', 'a', now())",
      "insert into app.audit_log (tenant_id, occurred_at, action, target_type) select id, '1999-01-01', 'a.b', 'tenant' from app.tenants limit 1",
      `do $$ declare t regclass; begin
         for t in select inhrelid::regclass from pg_inherits where inhparent = 'app.audit_log'::regclass
             and inhrelid::regclass::text <> 'audit_log_default'
         loop execute format('drop table %s', t); end loop; end $$`,
      "select app.create_audit_partition((now() - interval '1 year')::date)",
      `insert into app.factors (id, user_id, kind, name, key_id, witness_hash, sealed_secret, last_step)
       select gen_random_uuid(), id, 'totp', 'App', gen_random_uuid(), sha256('w'), sha256('s'), 0 from app.users limit 2`,
      `alter role ${OUTSIDER} bypassrls`,
      `grant identity_resolver, identity_vault to ${OUTSIDER}`,
      `grant select on app.users to ${OUTSIDER}`,
      'create role planted_orders login',
      'grant tenant_bound to planted_orders with inherit true, set true',
      "alter role planted_orders set statement_timeout = '2s'",
      "comment on function app.enqueue is 'callers: none'",
    ])
    expect(named(before)).toEqual(
      expect.arrayContaining([
        'dead-lettered-jobs: app.jobs send-mail',
        'default-partition: app.audit_log_default',
        'partitions-ahead: app.audit_log',
        'factor-keys: app.factors',
        `powerful-login: ${OUTSIDER}`,
        'grant-not-listed: app.users',
        'service-set-option: planted_orders',
        'service-timeout: planted_orders',
        'function-comment: app.enqueue(text, jsonb, text, timestamp with time zone)',
      ]),
    )
    expect(before.filter(({ object }) => object === OUTSIDER)).toHaveLength(3)
    // All but statement_timeout.
    expect(
      before.filter(({ check, object }) => check === 'service-timeout' && object === 'planted_orders'),
    ).toHaveLength(3)
    expect(faultsOf(before)).toEqual([])
  })

  it('warns when no event trigger fires on new partitions', async () => {
    const guard = (diagnoses: readonly Diagnosis[]) => diagnoses.filter(({ check }) => check === 'partition-guard')
    const trigger = [
      'create function public.watch() returns event_trigger language plpgsql as $$ begin end $$',
      "create event trigger watch on ddl_command_end when tag in ('CREATE TABLE') execute function public.watch()",
    ]
    const none =
      "do $$ declare e name; begin for e in select evtname from pg_event_trigger loop execute format('drop event trigger %I', e); end loop; end $$"
    expect(guard((await found([none])).before)).toEqual([expect.objectContaining({ severity: 'warning' })])
    expect(guard((await found([none, ...trigger])).before)).toEqual([])
    expect(guard((await found([none, ...trigger, 'alter event trigger watch disable'])).before)).toHaveLength(1)
  })
})

describe('the doctor as a login that may only read the catalogue', () => {
  it('reports the same faults, and lists what it did not see', async () => {
    const outsider = postgres(outsiderUrl, { max: 1 })
    await admin`alter table app.styles no force row level security`
    await admin`grant select on app.users to public`
    const asAdmin = await examine(admin, MIGRATIONS)
    const asOutsider = await examine(outsider, MIGRATIONS)
    expect(named(faultsOf(asAdmin))).toEqual(['grant-to-public: app.users', 'row-security-not-forced: app.styles'])
    expect(faultsOf(asOutsider)).toEqual(faultsOf(asAdmin))
    expect(named(asOutsider.filter(({ severity }) => severity === 'unseen'))).toEqual([
      'migrations: migrations.applied',
      'seal-weak: app.seal',
      'default-partition: app.audit_log_default',
      'role-permissions: app.roles',
      'second-factors: app.factors',
      'dead-lettered-jobs: app.jobs',
    ])
    await admin`alter table app.styles force row level security`
    await admin`revoke select on app.users from public`
    await outsider.end()
  })

  it('sees the applied migrations once it may read their table', async () => {
    await admin.unsafe(
      `grant usage on schema migrations to ${OUTSIDER}; grant select on migrations.applied to ${OUTSIDER}`,
    )
    const outsider = postgres(outsiderUrl, { max: 1 })
    expect(named(await examine(outsider, MIGRATIONS))).not.toContain('migrations: migrations.applied')
    await outsider.end()
    await admin.unsafe(
      `revoke all on schema migrations from ${OUTSIDER}; revoke all on migrations.applied from ${OUTSIDER}`,
    )
  })
})

describe('the examination of a database', () => {
  it('is one read-only transaction', async () => {
    const statements: string[] = []
    const sql = postgres(url, { max: 1, debug: (_connection, query) => statements.push(query) })
    await sql`select 1`
    statements.length = 0
    await examine(sql, MIGRATIONS)
    expect(statements[0]).toBe('begin read only')
    expect(statements.filter((text) => /^\s*(begin|commit|rollback)/i.test(text))).toEqual([
      'begin read only',
      'commit',
    ])
    await sql.end()
  })

  it('ignores objects of the login that come before those of the system in its search path', async () => {
    const name = `schema_${randomBytes(6).toString('hex')}`
    const { before } = await found([
      `create schema ${name} authorization ${OUTSIDER}`,
      `create function ${name}.quote_ident(name) returns text language sql as $$ select 'nothing' $$`,
      `create table ${name}.pg_policy (polrelid oid)`,
      `set local search_path = ${name}, pg_catalog`,
      'alter table app.styles no force row level security',
    ])
    expect(named(faultsOf(before))).toContain('row-security-not-forced: app.styles')
  })
})
