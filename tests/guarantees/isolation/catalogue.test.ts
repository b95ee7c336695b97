import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { afterAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { prepareDatabase, urlFor } from '#infra/local/postgres/database.ts'
import { startPostgres } from '#infra/local/postgres/postgres.ts'
import { catalogueChecks, checkCatalogue } from '#shared/doctor/catalogue.ts'
import { assertHealthy } from '#shared/doctor/doctor.ts'
import { GRANTS, readGrants } from '#shared/doctor/grants.ts'
import { log } from '#shared/base/log.ts'
import { createTestDatabase } from '#tests/support/database.ts'

const database = await createTestDatabase()
const sql = postgres(urlFor(inject('adminUrl'), { database: database.name }), { max: 1, onnotice: () => {} })

afterAll(async () => {
  await sql.end()
  await database.drop()
})

const ONE_TABLE = 'create table app.planted_notes (id uuid primary key, tenant_id uuid not null references app.tenants)'
const PARTITIONED = [
  'set local role identity_owner',
  'create table app.planted_events (id uuid, tenant_id uuid not null, at date, primary key (id, at)) partition by range (at)',
  "select app.enforce_tenant('app.planted_events')",
  "create table app.planted_events_2026 partition of app.planted_events for values from ('2026-01-01') to ('2027-01-01')",
]
/** The event trigger would guard a partition before a check can see it. */
const NO_EVENT_TRIGGER = 'alter event trigger guard_partitions disable'
const DEFINER = 'create function app.planted_count_tenants() returns bigint language sql security definer'

/** Another service with a guarded table of its own. */
const SERVICE = [
  'create role planted_service login',
  'grant tenant_bound to planted_service with inherit true',
  'create schema planted',
  'grant usage on schema planted to planted_service',
  'create table planted.orders (id uuid primary key, tenant_id uuid not null)',
  "select app.enforce_tenant('planted.orders')",
  'grant select, insert, update, delete on planted.orders to planted_service',
  'create table planted.countries (code text primary key)',
  'grant select on planted.countries to planted_service',
]

type Fault = readonly [object: string, ...statements: string[]]
/** The faults that each check must report: the object, and the statements that plant it. */
const FAULTS: Readonly<Record<string, readonly Fault[]>> = {
  'row-security-not-enabled': [
    ['planted.orders', ...SERVICE, 'alter table planted.orders disable row level security'],
    ['app.planted_notes', ONE_TABLE],
    ['app.memberships', 'alter table app.memberships disable row level security'],
    ['app.audit_log', 'alter table app.audit_log disable row level security'],
    ['app.tenants', 'alter table app.tenants disable row level security'],
    ['app.planted_events_2026', NO_EVENT_TRIGGER, ...PARTITIONED],
    ['elsewhere.notes', 'create schema elsewhere', 'create table elsewhere.notes (tenant_id uuid)'],
    ['app.sizes', 'alter table app.sizes add tenant_id uuid'],
    ['app.users', 'alter table app.users disable row level security'],
  ],
  'row-security-not-forced': [
    ['app.memberships', 'alter table app.memberships no force row level security'],
    ['app.sessions', 'alter table app.sessions no force row level security'],
    [
      'app.planted_events_2026',
      NO_EVENT_TRIGGER,
      ...PARTITIONED,
      'alter table app.planted_events_2026 enable row level security',
    ],
  ],
  'row-security-without-policy': [
    ['app.planted_events_2026', NO_EVENT_TRIGGER, ...PARTITIONED],
    [
      'app.styles',
      ...['read', 'insert', 'update', 'delete'].map((command) => `drop policy tenant_${command} on app.styles`),
    ],
  ],
  'grant-without-policy': [
    ['planted.orders', ...SERVICE, 'drop policy tenant_update on planted.orders'],
    ['app.memberships', 'drop policy tenant_read on app.memberships'],
    [
      'app.memberships',
      'alter policy tenant_insert on app.memberships to identity_app',
      'grant insert on app.memberships to identity_worker',
    ],
  ],
  'policy-for-public': [['app.styles open', 'create policy open on app.styles using (tenant_id is not null)']],
  'policy-always-true': [
    ['planted.orders open', ...SERVICE, 'create policy open on planted.orders to planted_service using (true)'],
    ['app.styles open', 'create policy open on app.styles using (true)'],
    ['app.tokens app_invitations', 'alter policy app_invitations on app.tokens with check (true)'],
    ['app.styles open', 'create policy open on app.styles for select to identity_app using (true)'],
    ['app.styles open', 'create policy open on app.styles to identity_worker using (true)'],
    ['app.jobs worker_queue', 'alter policy worker_queue on app.jobs to identity_worker, identity_app'],
    ['app.jobs worker_queue', 'alter policy worker_queue on app.jobs to public'],
    ...['app.tenants', 'app.memberships'].flatMap((table): Fault[] => [
      [`${table} operator_read`, `alter policy operator_read on ${table} to identity_operator, identity_app`],
      [`${table} operator_read`, `alter policy operator_read on ${table} to identity_app`],
      [`${table} operator_read`, `alter policy operator_read on ${table} to identity_worker`],
      [
        `${table} operator_read`,
        `drop policy operator_read on ${table}`,
        `create policy operator_read on ${table} to identity_operator using (true)`,
      ],
    ]),
    ['app.jobs worker_queue', 'alter policy worker_queue on app.jobs to identity_operator'],
    [
      'app.styles operator_read',
      'create policy operator_read on app.styles for select to identity_operator using (true)',
    ],
    ['app.audit_log worker_queue', 'create policy worker_queue on app.audit_log to identity_worker using (true)'],
    ['app.styles tenant_update', 'alter policy tenant_update on app.styles with check (true)'],
  ],
  'policy-ignores-tenant': [
    ['app.styles tenant_read', 'alter policy tenant_read on app.styles using (name is not null)'],
    ['app.styles tenant_read', 'alter policy tenant_read on app.styles using (app.current_tenant() is not null)'],
    [
      'app.styles tenant_read',
      "create function public.current_tenant() returns uuid language sql return 'a0000000-0000-4000-8000-000000000000'::uuid",
      'alter policy tenant_read on app.styles using (tenant_id = (select public.current_tenant()))',
    ],
    [
      'app.memberships worker_read',
      'create policy worker_read on app.memberships for select to identity_worker using (revoked_at < now())',
    ],
    ['app.jobs worker_queue', 'alter policy worker_queue on app.jobs to identity_app using (completed_at is null)'],
  ],
  'policy-admits-other-tenants': [
    [
      'app.styles tenant_read',
      "alter policy tenant_read on app.styles using (tenant_id = (select app.current_tenant()) or name = 'Sample')",
    ],
    [
      'app.styles tenant_delete',
      'alter policy tenant_delete on app.styles using (tenant_id <> (select app.current_tenant()))',
    ],
  ],
  'policy-admits-null-tenant': [
    [
      'app.styles tenant_insert',
      'alter policy tenant_insert on app.styles with check (tenant_id = (select app.current_tenant()) or tenant_id is null)',
    ],
    [
      'app.styles tenant_update',
      'alter policy tenant_update on app.styles with check (coalesce(tenant_id, app.current_tenant()) = app.current_tenant())',
    ],
    [
      'app.styles everything',
      `create policy everything on app.styles to identity_app using (tenant_id is not distinct from (select app.current_tenant()))`,
    ],
  ],
  'actor-not-checked': [
    ['app.audit_log', 'drop policy actor_insert on app.audit_log'],
    ['app.audit_log', 'alter policy actor_insert on app.audit_log with check (true)'],
    [
      'app.audit_log',
      'alter policy actor_insert on app.audit_log with check (actor_user_id is not distinct from (select app.current_actor()) or true)',
    ],
    ['app.audit_log', 'alter policy actor_insert on app.audit_log to identity_vault'],
  ],
  'policy-calls-for-each-row': [
    ['app.styles tenant_delete', 'alter policy tenant_delete on app.styles using (tenant_id = app.current_tenant())'],
    [
      'app.styles tenant_insert',
      'alter policy tenant_insert on app.styles with check (tenant_id = app.current_tenant())',
    ],
  ],
  'gate-member': [
    ['helper', 'create role helper', 'grant identity_gate to helper'],
    ['identity_app', 'grant identity_gate to identity_app with inherit false'],
  ],
  'seal-readable': [
    ['identity_app', 'grant select on app.seal to identity_app'],
    ['PUBLIC', 'grant select (scope_key) on app.seal to public'],
    ['identity_resolver', 'grant select (ticket_key) on app.seal to identity_resolver'],
    ['identity_gate', 'grant update on app.seal to identity_gate'],
  ],
  'role-missing': [
    ['identity_worker', 'alter role identity_worker rename to somebody'],
    ['identity_operator', 'alter role identity_operator rename to somebody'],
  ],
  'role-attribute': [
    ['planted_service', ...SERVICE, 'alter role planted_service bypassrls'],
    ['tenant_bound', 'alter role tenant_bound login'],
    ['identity_operator', 'alter role identity_operator bypassrls'],
    ['identity_app', 'alter role identity_app bypassrls'],
    ['identity_app', 'alter role identity_app superuser'],
    ['identity_worker', 'alter role identity_worker createrole'],
    ['identity_worker', 'alter role identity_worker createdb'],
    ['identity_app', 'alter role identity_app replication'],
    ['identity_resolver', 'alter role identity_resolver bypassrls'],
    ['identity_owner', 'alter role identity_owner login'],
    ['identity_gate', 'alter role identity_gate login'],
  ],
  'role-membership': [
    ['planted_service', ...SERVICE, 'grant identity_app to planted_service'],
    ['planted_service', ...SERVICE, 'grant pg_read_all_data to planted_service'],
    ['tenant_bound', 'grant tenant_table_owner to tenant_bound'],
    ['identity_app', 'grant identity_owner to identity_app'],
    ['identity_app', 'grant identity_resolver to identity_app with inherit false'],
    ['identity_operator', 'grant identity_owner to identity_operator'],
    ['identity_worker', 'grant pg_read_all_data to identity_worker'],
  ],
  'role-owns-object': [
    ['table planted.orders', ...SERVICE, 'alter table planted.orders owner to planted_service'],
    ['table app.styles', 'alter table app.styles owner to identity_app'],
    ['schema workbench', 'create schema workbench authorization identity_worker'],
    ['schema workbench', 'create schema workbench authorization identity_operator'],
  ],
  'owned-by-another': [
    ['app.planted_notes', ONE_TABLE],
    ['app.is_open(text)', 'alter function app.is_open(text) owner to postgres'],
  ],
  'privilege-past-row-security': [
    ['planted.orders', ...SERVICE, 'grant truncate on planted.orders to planted_service'],
    ['app.memberships', 'grant truncate on app.memberships to identity_app'],
    ['app.memberships', 'grant references (id) on app.memberships to identity_app'],
    ['app.styles', 'grant trigger on app.styles to identity_worker'],
    ['app.tenants', 'grant truncate on app.tenants to identity_operator'],
    ['app.styles', 'grant truncate on app.styles to public'],
  ],
  'grant-to-public': [
    ['app.users', 'grant select on app.users to public'],
    ['app.users', 'grant select (email) on app.users to public'],
    ['app', 'grant usage on schema app to public'],
    ['app.open()', 'create function app.open() returns integer language sql return 1'],
  ],
  'grant-on-partition': [
    ['app.audit_log_default', 'grant select on app.audit_log_default to identity_worker'],
    ['app.audit_log_default', 'grant insert on app.audit_log_default to identity_operator'],
    ['app.planted_events_2026', ...PARTITIONED, 'grant select on app.planted_events_2026 to identity_app'],
    ['app.planted_events_2026', ...PARTITIONED, 'grant insert (at) on app.planted_events_2026 to identity_worker'],
  ],
  'view-without-invoker': [
    ['app.planted_everyone', 'create view app.planted_everyone as select * from app.memberships'],
    ['app.invitations', 'alter view app.invitations reset (security_invoker)'],
    ['app.live_sessions', 'alter view app.live_sessions reset (security_invoker)'],
    ['app.live_sessions', 'alter view app.live_sessions set (security_invoker = off)'],
  ],
  'materialized-view': [
    ['app.planted_everyone', 'create materialized view app.planted_everyone as select * from app.memberships'],
  ],
  'definer-not-listed': [
    ['app.planted_count_tenants()', `${DEFINER} return (select count(*) from app.tenants)`],
    ['public.peek()', 'create function public.peek() returns integer language sql security definer return 1'],
  ],
  'definer-missing': [
    [
      'app.sessions_of_session(bytea, timestamp with time zone, uuid, integer)',
      'drop function app.sessions_of_session',
    ],
    [
      'app.sessions_of_session(bytea, timestamp with time zone, uuid, integer)',
      'alter function app.sessions_of_session security invoker',
    ],
  ],
  'definer-search-path': [
    ['app.planted_count_tenants()', `${DEFINER} return (select count(*) from app.tenants)`],
    ['app.tenants_of_session(bytea)', 'alter function app.tenants_of_session(bytea) reset search_path'],
    ['app.tenants_of_session(bytea)', 'alter function app.tenants_of_session(bytea) set search_path = app'],
  ],
  'function-search-path': [
    ['app.planted_now()', 'create function app.planted_now() returns timestamptz language sql as $$ select now() $$'],
    ['app.proof_of_ticket(bytea)', 'alter function app.proof_of_ticket reset search_path'],
    [
      'app.enforce_tenant(regclass, name, boolean)',
      'alter function app.enforce_tenant set search_path = app, pg_catalog',
    ],
  ],
  'definer-messages': [
    [
      'app.enqueue(text, jsonb, text, timestamp with time zone)',
      'alter function app.enqueue reset client_min_messages',
    ],
    [
      'app.end_sessions(bytea, uuid, text, app.source)',
      'alter function app.end_sessions set client_min_messages = log',
    ],
  ],
  'definer-for-public': [
    ['app.tenants_of_session(bytea)', 'grant execute on function app.tenants_of_session(bytea) to public'],
  ],
  'definer-owner': [
    ['app.enqueue(text, jsonb, text, timestamp with time zone)', 'alter function app.enqueue owner to identity_owner'],
    ['app.create_audit_partition(date)', 'alter function app.create_audit_partition owner to postgres'],
    ['app.tenants_of_session(bytea)', 'alter function app.tenants_of_session(bytea) owner to postgres'],
    ['app.current_tenant()', 'alter function app.current_tenant() owner to identity_resolver'],
  ],
  'default-privileges': [
    [
      'postgres in planted',
      ...SERVICE,
      'alter default privileges in schema planted grant select on tables to planted_service',
    ],
    [
      'identity_owner in app',
      'alter default privileges for role identity_owner in schema app grant select on tables to identity_app',
    ],
    [
      'identity_owner in app',
      'alter default privileges for role identity_owner in schema app grant select on tables to identity_operator',
    ],
    ['identity_owner', 'alter default privileges for role identity_owner grant select on tables to public'],
  ],
  'foreign-key-without-tenant': [
    [
      'app.planted_notes planted_notes_membership_fkey',
      ONE_TABLE,
      'alter table app.planted_notes add membership uuid, add foreign key (membership) references app.memberships (id)',
    ],
    [
      'app.planted_notes planted_notes_owner_tenant_fkey',
      ONE_TABLE,
      'alter table app.planted_notes add owner_tenant uuid, add foreign key (owner_tenant) references app.tenants',
    ],
    [
      'app.planted_notes planted_notes_style_fkey',
      ONE_TABLE,
      'alter table app.planted_notes add scope uuid, add style uuid, add constraint planted_notes_style_fkey foreign key (scope, style) references app.styles (scope, id)',
    ],
    ['app.variants variants_style', 'alter table app.variants drop constraint variants_style_of_tenant'],
  ],
  'tenant-data-without-tenant-id': [
    [
      'app.planted_badges planted_badges_membership_fkey',
      'create table app.planted_badges (membership uuid references app.memberships (id))',
    ],
  ],
  'service-reaches-app': [
    ['app.styles', ...SERVICE, 'grant select on app.styles to planted_service'],
    ['app.users', ...SERVICE, 'grant select (email) on app.users to planted_service'],
    [
      'app.authenticate(bytea, integer, integer)',
      ...SERVICE,
      'grant execute on function app.authenticate to planted_service',
    ],
  ],
  'service-writes-unguarded': [
    ['planted.countries', ...SERVICE, 'grant update on planted.countries to planted_service'],
  ],
  'unique-across-tenants': [
    ['app.memberships(user_id, role_id)', 'create unique index on app.memberships (user_id, role_id)'],
    ['app.tenants(expression)', 'create unique index on app.tenants (lower(legal_name))'],
    ['app.planted_notes(number)', ONE_TABLE, 'alter table app.planted_notes add number integer unique'],
    [
      'app.planted_counts(number)',
      'create table app.planted_counts (number integer primary key, tenant_id uuid not null)',
    ],
  ],
}

/** Statements that plant no fault. The checks must report nothing. */
const CLEAN: readonly (readonly [what: string, ...statements: string[]])[] = [
  [
    'a guarded table with children that reference it by tenant and id',
    'set local role identity_owner',
    'create table app.planted_orders (id uuid primary key, tenant_id uuid not null references app.tenants, unique (tenant_id, id))',
    'create table app.planted_lines (id uuid primary key, tenant_id uuid not null, order_id uuid not null, foreign key (tenant_id, order_id) references app.planted_orders (tenant_id, id))',
    "select app.enforce_tenant('app.planted_orders')",
    "select app.enforce_tenant('app.planted_lines')",
    'grant select, insert, update, delete on app.planted_orders, app.planted_lines to identity_app',
  ],
  [
    'a table with a key to a style of the platform or of its own tenant',
    'set local role identity_owner',
    "create table app.planted_cuts (id uuid primary key, tenant_id uuid not null references app.tenants, style uuid not null, scope uuid not null check (scope in (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), '00000000-0000-0000-0000-000000000000')), foreign key (scope, style) references app.styles (scope, id))",
    "select app.enforce_tenant('app.planted_cuts')",
  ],
  [
    'a partitioned table with the guard on each partition',
    NO_EVENT_TRIGGER,
    ...PARTITIONED,
    "select app.enforce_tenant('app.planted_events_2026')",
    'grant select, insert on app.planted_events to identity_app',
  ],
  [
    'a policy narrower than the tenant',
    "alter policy tenant_update on app.styles using (tenant_id = (select app.current_tenant()) and name <> '')",
  ],
  [
    'a policy of the worker narrower than the tenant',
    "create policy worker_read on app.styles for select to identity_worker using (tenant_id = (select app.current_tenant()) and name <> '')",
    'grant select on app.styles to identity_worker',
  ],
  ['another service with a guarded table, and one that it only reads', ...SERVICE],
  ['the partition of another year', "select app.create_audit_partition((now() - interval '1 year')::date)"],
]

describe('a migrated database', () => {
  test('passes every catalogue check', async () => {
    expect(await checkCatalogue(sql)).toEqual([])
  })

  test('passes every catalogue check as identity_app', async () => {
    const app = postgres(database.appUrl, { max: 1 })
    expect(await checkCatalogue(app)).toEqual([])
    await app.end()
  })

  test('grants what shared/doctor/grants.json lists', async () => {
    expect(await readGrants(sql), 'the list is stale: run `npm run grants`').toEqual(GRANTS)
  })
})

const faults = Object.entries(FAULTS).flatMap(([check, each]) => each.map((fault) => [check, ...fault] as const))

/** Returns what the catalogue checks report after some statements, which it rolls back. */
async function reportedAfter(statements: readonly string[]) {
  await sql`begin`
  try {
    for (const statement of statements) await sql.unsafe(statement)
    return await checkCatalogue(sql)
  } finally {
    await sql`rollback`
  }
}

describe('the catalogue checks', () => {
  test.each(faults)('report %s: %s', async (check, object, ...statements) => {
    expect(await reportedAfter(statements)).toContainEqual(expect.objectContaining({ check, object }))
  })

  test.each(CLEAN)('report nothing for %s', async (_what, ...statements) => {
    expect(await reportedAfter(statements)).toEqual([])
  })

  test('have a planted fault each', () => {
    expect(Object.keys(FAULTS).toSorted()).toEqual(catalogueChecks.toSorted())
  })
})

describe('a login without superuser that may create roles and owns the database', () => {
  test('migrates to a clean catalogue, with warnings of large objects and of partitions created by hand', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tenantry-master-'))
    // Postgres does not run as root, and must be able to enter.
    await chmod(folder, 0o711)
    const cluster = await startPostgres({ dataDir: join(folder, 'data'), durable: false })
    try {
      const admin = postgres(cluster.adminUrl, { max: 1 })
      const warn = vi.spyOn(log, 'warn')
      onTestFinished(() => warn.mockRestore())
      // Like the master user of Aurora.
      await admin`create role master login password 'master' nosuperuser nobypassrls createdb createrole`
      await admin`grant pg_signal_backend to master with admin option`
      await admin`create database tenantry owner master`
      await admin.end()
      const masterUrl = urlFor(cluster.adminUrl, { user: 'master', password: 'master', database: 'tenantry' })
      const prepared = await prepareDatabase(masterUrl, { name: 'tenantry', rolePassword: 'identity' })
      expect(prepared.applied).not.toEqual([])
      expect(warn.mock.calls).toEqual([
        [expect.stringMatching(/^large objects stay open to every role/)],
        [expect.stringMatching(/^the event trigger guard_partitions was not created/)],
      ])
      const app = postgres(prepared.urls.app, { max: 1 })
      expect(await checkCatalogue(app)).toEqual([])
      expect(await readGrants(app)).toEqual(GRANTS)
      await app.end()
      const master = postgres(masterUrl, { max: 1 })
      const warnings = await assertHealthy(master, fileURLToPath(new URL('../../../migrations/', import.meta.url)))
      expect(warnings.filter(({ check }) => check === 'powerful-login')).toEqual([])
      await master.end()
      const again = await prepareDatabase(masterUrl, { name: 'tenantry', rolePassword: 'identity' })
      expect(again.applied).toEqual([])
    } finally {
      await cluster.stop('immediate')
      await rm(folder, { recursive: true, force: true })
    }
  })
})
