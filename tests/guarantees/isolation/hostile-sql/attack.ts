import type { ServiceRole } from '#shared/base/needs.ts'

/** Functions that enter a tenant, or issue what enters one, in the name of others. */
export const ENTRIES_OF_OTHERS = [
  `select app.set_tenant('{B}')`,
  'select app.current_tenant()',
  `select app.enter_to_read(sha256('x'))`,
  `select app.enter_to_write(sha256('x'), null, false)`,
  `select app.operator_ticket('{B}', 'curious')`,
  `select app.seal_ticket('operator', '{B}', p_may_write => true)`,
  `select app.lease_ticket('{session}', '{session}')`,
] as const

/** Statements of one attack, run one after the other in a transaction of tenant A. `{A}` and other ids are filled in. */
export interface Attack {
  readonly role: `identity_${ServiceRole}`
  readonly what: string
  readonly statements: readonly string[]
  /**
   * `reads` succeeds when something of tenant B or a hash comes back, and `writes` also when a row is changed or returned.
   * Every statement of `refused` lacks a privilege.
   */
  readonly kind: 'reads' | 'writes' | 'refused'
}

type Row = readonly [what: string, ...statements: string[]]

/** Returns an attack for each row: what it does, and its statements. */
export const attacks = (role: Attack['role'], kind: Attack['kind'], ...rows: Row[]): Attack[] =>
  rows.map(([what, ...statements]) => ({ role, what, statements, kind }))

export const MEMBERS = 'select u.email, u.full_name from app.memberships m join app.users u on u.id = m.user_id'
export const PRINTED = [
  'set local client_min_messages = log',
  'set local debug_print_plan = on',
  'set local plan_cache_mode = force_custom_plan',
]

/** Views of the server that hold values of rows, or statements. */
export const STATISTICS = [
  'select * from pg_stats',
  'select * from pg_stats_ext',
  'select * from pg_stat_activity',
  'select * from pg_prepared_statements',
]

/** Objects that would be found before those of the service. */
export const planting = (role: Attack['role']): Attack[] =>
  attacks(
    role,
    'refused',
    [
      'plants temporary objects',
      'create temporary table users (id uuid)',
      'create domain pg_temp.uuid as text',
      'create function pg_temp.f() returns int language sql return 1',
      'create view pg_temp.v as select 1',
    ],
    [
      'plants objects in a schema',
      'create schema mine',
      'create table app.mine (id int)',
      'create view app.mine as select 1',
      'create function app.mine() returns int language sql return 1',
      'create function public.mine() returns int language sql return 1',
    ],
    [
      'removes a guard',
      'alter table app.styles disable row level security',
      'alter policy tenant_read on app.styles using (true)',
      'drop policy people_of_tenant on app.users',
      'create policy mine on app.styles using (true)',
      'drop trigger sessions_stay_ended on app.sessions',
      'alter function app.set_tenant(uuid, uuid, uuid) security definer',
      'create or replace function app.current_tenant() returns uuid language sql return null',
    ],
    [
      'becomes another role',
      'set local role identity_owner',
      'set local role identity_resolver',
      'set local role postgres',
      'set local session authorization postgres',
      'grant identity_owner to current_user',
      'alter role identity_owner login',
      'alter role current_user bypassrls',
    ],
    [
      'reads files and passwords',
      `select pg_read_file('/etc/passwd')`,
      `select pg_ls_dir('.')`,
      'table pg_authid',
      'table pg_statistic',
      `copy app.tenants to '/tmp/stolen'`,
      `copy app.tenants to program 'cat'`,
    ],
    [
      'uses large objects',
      'select lo_create(0)',
      `select lo_from_bytea(0, '\\x00')`,
      'select lo_creat(-1)',
      `select lo_export(1, '/tmp/stolen')`,
    ],
    [
      'installs a program',
      'create extension dblink',
      'create language plpython3u',
      'create event trigger e on ddl_command_end execute function app.guard_partitions()',
      'create publication p for all tables',
    ],
  )

/** The functions without SET clauses, whose plans the caller may print. `{ticket}` is the one of the scope. */
export const printing = (role: Attack['role']): Attack[] =>
  attacks(role, 'reads', [
    'prints the plans of the functions that seal a scope',
    ...PRINTED,
    'select app.current_tenant(), app.current_actor()',
    'select id from app.tenants where id = app.current_tenant()',
    `select app.enter_to_read('{ticket}')`,
    `select app.enter_to_write('{ticket}', null, false)`,
    `select app.enter_to_read(overlay('{ticket}'::bytea placing '\\x00' from 90))`,
    'prepare seal as select app.current_tenant()',
    'explain (analyze, verbose) execute seal',
  ])

/** Audit entries in the name of somebody else. The ticket of the test names nobody. */
export const impersonating = (role: Attack['role']): Attack[] =>
  attacks(role, 'writes', [
    'audits in the name of another',
    `insert into app.audit_log (tenant_id, actor_user_id, action, target_type) values ('{A}', '{person}', 'a.b', 'c')`,
    `with acting as (select set_config('app.scope', '73' || substr(current_setting('app.scope'), 3, 32) || replace('{person}', '-', ''), true))
     insert into app.audit_log (tenant_id, actor_user_id, action, target_type) select '{A}', '{person}', 'a.b', 'c' from acting`,
  ])

const SOURCE = `row('r', null, null)::app.source`

/** API keys: nobody makes, widens, prolongs, revives or reads one by SQL. `{key}` is one of tenant B, whose hash the test seeks. */
export const onKeys = (role: Attack['role']): Attack[] => [
  ...attacks(
    role,
    'refused',
    [
      'makes an API key, or prolongs or revives one',
      `insert into app.api_keys (tenant_id, name, key_hash, hint, created_by, expires_at)
       values ('{A}', 'mine', sha256('mine'), 'abcd', '{person}', 'infinity')`,
      `update app.api_keys set key_hash = sha256('mine')`,
      'update app.api_keys set revoked_at = null',
      `update app.api_keys set expires_at = 'infinity'`,
      `update app.api_keys set previous_hash = sha256('mine'), previous_expires_at = 'infinity'`,
      'update app.api_keys set generation = generation - 1',
      'delete from app.api_keys',
      'truncate app.api_keys cascade',
      'alter table app.api_keys disable trigger api_keys_stay_revoked',
    ],
    [
      'widens an API key',
      `insert into app.api_key_permissions values ('{A}', '{key}', 'deal.write')`,
      `update app.api_key_permissions set permission = 'deal.write'`,
      'delete from app.api_key_permissions',
      `insert into app.key_permissions values ('member.manage'), ('*')`,
      'alter table app.api_key_permissions drop constraint api_key_permissions_of_keys',
      'drop trigger api_key_permissions_stay on app.api_key_permissions',
    ],
    [
      'reads hashes of API keys',
      'select key_hash from app.api_keys',
      'select previous_hash from app.api_keys',
      'table app.api_keys',
      `select id from app.api_keys where key_hash = sha256('x')`,
    ],
    [
      'enters a tenant as an API key',
      `select app.enter_by_key('{B}', '{key}', 0, 'deal.read', false, null)`,
      `select app.require_api_key('{B}', '{key}', 0, null, null)`,
      `select app.set_tenant('{B}', null, '{key}')`,
      `select app.seal_ticket('key', '{B}', '{key}', p_role => 0)`,
      `select app.lock_api_key('{ticket}', '{key}', null)`,
      `select app.audit_key('{key}', 'api_key.revoked', '{person}', ${SOURCE})`,
      `select app.mail_about_key('{key}', 'created')`,
    ],
  ),
  ...attacks(role, 'writes', [
    'changes API keys by the functions of their routes',
    `select * from app.create_api_key('{ticket}', 'mine', '["deal.read"]', sha256('mine'), 'abcd', null, 86400, 86400, 50, ${SOURCE})`,
    `select app.rename_api_key('{ticket}', '{key}', 'mine', ${SOURCE})`,
    `select app.rotate_api_key('{ticket}', '{key}', sha256('mine'), 'abcd', 60, 'infinity', 2147483647, ${SOURCE})`,
    `select app.revoke_api_key('{ticket}', '{key}', ${SOURCE})`,
    `select * from app.revoke_sent_key(sha256('x'), sha256('y'), ${SOURCE})`,
    `select * from app.authenticate_key(sha256('x'), sha256('y'), null)`,
  ]),
  ...attacks(role, 'reads', [
    'reads API keys of another tenant',
    'select id, name, hint from app.api_keys',
    `select name from app.api_keys where id = '{key}'`,
    'table app.api_key_permissions',
    `select * from app.api_keys_of_tenant('{B}')`,
    `select * from app.mail_of_key('{key}', '{key}')`,
    `select * from app.authenticate_key(sha256('x'), null, 1)`,
    'select key_name from app.audit_entries',
  ]),
]

/** A title, and the attacks that every login of a function tries on what a sign-in and a revocation need. */
export const LOCKS_AND_MARKS = [
  'locks or empties what every sign-in needs, or marks itself as a revocation',
  'lock table app.rate_limits in access exclusive mode',
  'delete from app.rate_limits',
  'select key from app.known_networks',
  'delete from app.known_networks',
  'lock table app.sessions in access exclusive mode',
  'delete from app.sessions',
  'lock table app.memberships in share mode',
  'lock table app.tokens in share mode',
  'delete from app.tokens',
  'lock table revocation.under_way in row share mode',
  'prepare marked as select from revocation.under_way for share',
  'select app.mark_revocation()',
] as const
