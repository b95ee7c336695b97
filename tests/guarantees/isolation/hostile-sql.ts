import type { ServiceRole } from '#shared/needs.ts'

/** Functions that enter a tenant, or issue what enters one, in the name of others. */
const ENTRIES_OF_OTHERS = [
  `select app.set_tenant('{B}')`,
  'select app.current_tenant()',
  `select app.enter_to_read(sha256('x'))`,
  `select app.enter_to_write(sha256('x'), null, false)`,
  `select app.operator_ticket('{B}', 'curious')`,
  `select app.platform_ticket('{B}', true)`,
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

const of = (role: Attack['role'], kind: Attack['kind'], ...rows: Row[]): Attack[] =>
  rows.map(([what, ...statements]) => ({ role, what, statements, kind }))

const MEMBERS = 'select u.email, u.full_name from app.memberships m join app.users u on u.id = m.user_id'
const PRINTED = [
  'set local client_min_messages = log',
  'set local debug_print_plan = on',
  'set local plan_cache_mode = force_custom_plan',
]

/** Objects that would be found before those of the service. */
const planting = (role: Attack['role']): Attack[] =>
  of(
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
      'alter function app.set_tenant(uuid, uuid) security definer',
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
const printing = (role: Attack['role']): Attack[] =>
  of(role, 'reads', [
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
const impersonating = (role: Attack['role']): Attack[] =>
  of(role, 'writes', [
    'audits in the name of another',
    `insert into app.audit_log (tenant_id, actor_user_id, action, target_type) values ('{A}', '{person}', 'a.b', 'c')`,
    `with acting as (select set_config('app.scope', left(current_setting('app.scope'), 32) || replace('{person}', '-', ''), true))
     insert into app.audit_log (tenant_id, actor_user_id, action, target_type) select '{A}', '{person}', 'a.b', 'c' from acting`,
  ])

export const ATTACKS: readonly Attack[] = [
  ...of(
    'identity_app',
    'reads',
    [
      'sets the tenant of another',
      `select set_config('app.scope', '{scope of B}', true)`,
      MEMBERS,
      'select name from app.styles',
      'select account_number from app.vendor_accounts',
      'select request_id from app.audit_log',
    ],
    [
      'sets the tenant within one SELECT',
      `select set_config('app.scope', '{scope of B}', true), query_to_xml('${MEMBERS}', true, true, '')::text`,
    ],
    ['calls set_tenant for another', `select app.set_tenant('{B}')`, MEMBERS],
    ['reads every address', 'select email, full_name from app.users', `select xmlforest(email)::text from app.users`],
    [
      'invites somebody of another tenant to see their name',
      `select app.put_invitation('{email}', 7::smallint, sha256('x'), 60)`,
      'select full_name from app.users',
      `update app.memberships set accepted_at = now() where user_id = '{person}' returning user_id`,
      `select u.full_name from app.memberships m join app.users u on u.id = m.user_id where m.user_id = '{person}'`,
    ],
    [
      'reads password hashes',
      'select password_hash from app.users',
      `select query_to_xml('select password_hash from app.users', true, true, '')::text`,
    ],
    ['reads session keys', `select encode(token_key, 'hex') from app.sessions`],
    ['reads token hashes', `select encode(token_hash, 'hex') from app.tokens`, 'table app.tokens'],
    ['reads the whole schema as XML', `select table_to_xml('app.users', true, true, '')::text`],
    [
      'follows sessions of others to their tenants',
      `select t.* from app.sessions s, app.tenants_of_session(uuid_send(s.id)) as t`,
      `select * from app.sessions_of_session(decode(repeat('00', 92), 'hex'))`,
    ],
    [
      'reads rows of other tenants',
      'select name from app.styles',
      'select account_number from app.vendor_accounts',
      'select legal_name from app.tenants',
      'table app.memberships',
      'select * from app.audit_log',
      'select * from app.invitations',
      'select * from app.live_sessions',
    ],
    [
      'reads with a leaky condition',
      'select from app.styles where name::int = 1',
      'select from app.tenants where legal_name::uuid is null',
      `select from app.vendor_accounts where 1 / (account_number = '')::int = 1`,
      `select from app.styles where xml(name) is not null`,
    ],
    [
      'turns row security off',
      'set local row_security = off',
      'select name from app.styles',
      'table app.memberships',
      'select legal_name from app.tenants',
    ],
    [
      'reads statistics of the planner',
      'select * from pg_stats',
      'select * from pg_stats_ext',
      'explain (analyze, verbose) select * from app.styles',
      'select * from pg_stat_activity',
      'select * from pg_prepared_statements',
    ],
    [
      'makes definer functions fail with rows of others',
      `select app.put_invitation('{email}', 99::smallint, sha256('x'), 60)`,
      `select app.put_invitation('{email}', 7::smallint, '\\x00', 60)`,
      `select app.enqueue('BAD KIND', '{}')`,
    ],
    [
      'prints the plans inside definer functions',
      ...PRINTED,
      `select app.put_invitation('{email}', 7::smallint, sha256('x'), 60)`,
      `select app.enqueue('planted', '{}')`,
    ],
    [
      'joins through keys of others',
      `select * from app.memberships where user_id = '{person}'`,
      `select * from app.tenants where id = '{B}'`,
      `select id, vendor from app.vendor_accounts where id = '{account}'`,
    ],
    [
      'moves a cursor across scopes',
      'declare c cursor for select name from app.styles',
      'fetch all from c',
      `select set_config('app.scope', '', true)`,
      'fetch all from c',
    ],
  ),
  ...of(
    'identity_app',
    'refused',
    [
      'reads what no route needs',
      'select csrf_secret from app.sessions',
      'select ip_hash from app.sessions',
      'select sealed_secret from app.vendor_accounts',
      'table app.data_keys',
      'table app.jobs',
      'table app.audit_log_default',
      'select * from migrations.applied',
    ],
    [
      'calls functions of other roles',
      `select app.create_audit_partition(current_date)`,
      `select app.claim_jobs('mail', 9, 9, 9)`,
      `select app.enforce_tenant('app.styles')`,
      'select app.guard_partitions()',
      `select app.password_salt('{email}', '')`,
      `select app.is_digest_of(sha256('x'), '')`,
      `select app.find_invitation(sha256('x'), null)`,
      `select app.lock_user('{person}')`,
      `select app.tenants_of_session(sha256('x'))`,
      `select app.select_tenant(sha256('x'), '{B}', 60, 'x', null, null)`,
    ],
    [
      'deletes evidence',
      'delete from app.audit_log',
      'update app.audit_log set request_id = null',
      'truncate app.audit_log',
      'delete from app.sessions',
      'delete from app.users',
      'drop table app.audit_log',
    ],
    [
      'changes who somebody is',
      `update app.users set email = 'x@y.test'`,
      'update app.users set disabled_at = null',
      'update app.users set full_name = null',
      'update app.sessions set user_id = null',
      'update app.memberships set tenant_id = null',
      'update app.memberships set accepted_at = now()',
      'update app.users set last_login_at = null',
      `insert into app.users (email) values ('x@y.test')`,
      `insert into app.role_permissions values (7, '*')`,
    ],
  ),
  ...of(
    'identity_app',
    'writes',
    ['replaces the passwords of others', `update app.users set password_hash = 'x' where id = '{person}'`],
    [
      'ends the sessions of others',
      `select app.end_sessions(decode(repeat('00', 92), 'hex'), '{session}', 'session.revoked', 'x', null, null)`,
      `select app.end_sessions_of('{person}', null, null, 'session.revoked', 'x', null, null)`,
      `select app.record_new_password('{person}', null, 'a.b', 'x', null, null)`,
      `select app.end_unused_sessions('{person}', 0, 'x', null, null)`,
    ],
    [
      'makes a session of somebody, and its proof',
      `insert into app.sessions (token_key, csrf_secret, user_id, idle_expires_at, absolute_expires_at)
       values (sha256('mine'), sha256('mine'), '{person}', 'infinity', 'infinity')`,
      `select t.legal_name from app.authenticate(sha256('mine'), 60) a, app.tenants_of_session(a.ticket) t`,
    ],
    [
      'signs in, or replaces a password, without one',
      `select * from app.sign_in('{email}', sha256('x'), sha256('mine'), sha256('x'), sha256('x'), null, null, 9, 9, 9, 'x', null)`,
      `select app.rehash_password('{email}', sha256('x'), 'x')`,
      `select app.change_password(sha256('x'), sha256('x'), 'x', 'x', null, null)`,
      `select app.reset_password(sha256('x'), null, 'x', 'x', null, null)`,
      `select app.accept_invitation(sha256('x'), null, 'x', 'x', 'x', null, null)`,
    ],
    [
      'makes somebody of another tenant a member',
      `insert into app.memberships (tenant_id, user_id, role_id, accepted_at) values ('{A}', '{person}', 1, now())`,
    ],
    [
      'writes rows of another tenant',
      `insert into app.memberships (tenant_id, user_id, role_id) values ('{B}', '{person}', 1)`,
      `insert into app.audit_log (tenant_id, action, target_type) values ('{B}', 'a.b', 'c')`,
      `update app.memberships set role_id = 7 where user_id = '{person}'`,
      `update app.tenants set settings = '{"x":1}' where id = '{B}'`,
    ],
    [
      'revives a session',
      'update app.sessions set revoked_at = null where revoked_at is not null',
      `update app.sessions set revoked_at = 'infinity' where revoked_at is not null`,
    ],
    [
      'revives a token',
      'update app.tokens set consumed_at = null where consumed_at is not null',
      `update app.tokens set expires_at = expires_at + interval '1 day' where user_id = '{person}'`,
    ],
    [
      'plants a token',
      `insert into app.tokens (token_hash, purpose, user_id, expires_at) values (sha256('x'), 'password_reset', '{person}', 'infinity')`,
      `insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at) values (sha256('x'), 'invite', '{B}', 'x@y.test', 1, 'infinity')`,
      `update app.tokens set token_hash = sha256('x') where tenant_id = '{B}'`,
      `delete from app.tokens where tenant_id = '{B}'`,
    ],
  ),
  ...impersonating('identity_app'),
  ...printing('identity_app'),
  ...planting('identity_app'),

  ...of(
    'identity_auth',
    'reads',
    [
      'reads what the functions for a proof return without one',
      `select app.password_salt('{email}', '')`,
      `select app.is_own_password(decode(repeat('00', 90), 'hex'), sha256('x'))`,
      `select * from app.sign_in('{email}', sha256('x'), sha256('mine'), sha256('x'), sha256('x'), null, null, 9, 9, 9, 'x', null)`,
      `select * from app.find_invitation(sha256('x'), null)`,
      `select * from app.find_reset(sha256('x'), null)`,
      `select * from app.accept_invitation(sha256('x'), null, 'x', 'x', 'x', null, null)`,
      `select * from app.reset_password(sha256('x'), null, 'x', 'x', null, null)`,
      `select * from app.tenants_of_session(decode(repeat('00', 90), 'hex'))`,
      `select * from app.sessions_of_session(decode(repeat('00', 90), 'hex'))`,
      `select * from app.authenticate(sha256('x'), 60)`,
      `select * from app.select_tenant(decode(repeat('00', 90), 'hex'), '{B}', 60, 'x', null, null)`,
    ],
    [
      'makes definer functions fail with rows of others',
      `select app.password_salt(null, null)`,
      `select app.rehash_password('{email}', null, 'x')`,
      `select * from app.sign_in('{email}', null, null, null, null, null, null, null, null, null, repeat('x', 200), null)`,
      `select * from app.sign_in('{email}', sha256('x'), null, null, null, null, null, 9, 9, 9, 'x', repeat('x', 200))`,
      `select app.verify_email(null, null)`,
      `select app.end_sessions(sha256('x'), '{session}', 'BAD', 'x', null, null)`,
      `select app.enqueue('BAD KIND', '{}')`,
    ],
    [
      'prints the plans inside definer functions',
      ...PRINTED,
      `select app.password_salt('{email}', '')`,
      `select * from app.sign_in('{email}', sha256('x'), sha256('mine'), sha256('x'), sha256('x'), null, null, 9, 9, 9, 'x', null)`,
      `select app.rehash_password('{email}', sha256('x'), 'x')`,
      `select * from app.find_reset(sha256('x'), null)`,
      `select app.enqueue('planted', '{}')`,
    ],
    [
      'reads statistics of the planner',
      'select * from pg_stats',
      'select * from pg_stats_ext',
      'select * from pg_stat_activity',
      'select * from pg_prepared_statements',
    ],
  ),
  ...of(
    'identity_auth',
    'refused',
    [
      'reads a table of users, sessions, tokens or tenants',
      'select id from app.users',
      'select password_hash from app.users',
      'select id from app.sessions',
      'select token_key from app.sessions',
      'select id from app.tokens',
      'select token_hash from app.tokens',
      'select id from app.memberships',
      'select id from app.tenants',
      'select user_id from app.failed_sign_ins',
      'select * from app.live_sessions',
      'select * from app.invitations',
      'select * from app.audit_log',
      'table app.role_permissions',
      'table app.styles',
      'table app.vendor_accounts',
      'table app.data_keys',
      'table app.jobs',
      'table app.seal',
    ],
    [
      'writes a row that is a proof',
      `insert into app.sessions (token_key, csrf_secret, user_id, idle_expires_at, absolute_expires_at)
       values (sha256('mine'), sha256('mine'), '{person}', 'infinity', 'infinity')`,
      `insert into app.tokens (token_hash, purpose, user_id, expires_at) values (sha256('x'), 'password_reset', '{person}', 'infinity')`,
      `insert into app.memberships (tenant_id, user_id, role_id, accepted_at) values ('{B}', '{person}', 1, now())`,
      `update app.users set password_hash = 'x'`,
      `update app.sessions set revoked_at = null`,
      `update app.tokens set consumed_at = null`,
      `insert into app.audit_log (tenant_id, action, target_type) values ('{B}', 'a.b', 'c')`,
      'delete from app.sessions',
    ],
    [
      'calls functions of other roles, and those inside of others',
      ...ENTRIES_OF_OTHERS,
      `select app.claim_jobs('mail', 9, 9, 9)`,
      `select app.put_invitation('{email}', 7::smallint, sha256('x'), 60)`,
      `select app.is_digest_of(sha256('x'), 'x')`,
      `select app.end_sessions_of('{person}', null, null, 'a.b', 'x', null, null)`,
      `select app.end_unused_sessions('{person}', 0, 'x', null, null)`,
      `select app.record_new_password('{person}', null, 'a.b', 'x', null, null)`,
      `select app.lock_user('{person}')`,
      'select app.renew_seal()',
    ],
  ),
  ...of('identity_auth', 'writes', [
    'changes a password or signs in without one',
    `select * from app.sign_in('{email}', sha256('x'), sha256('mine'), sha256('x'), sha256('x'), null, null, 9, 9, 9, 'x', null)`,
    `select * from app.reset_password(sha256('x'), null, 'x', 'x', null, null)`,
    `select * from app.accept_invitation(sha256('x'), null, 'x', 'x', 'x', null, null)`,
    `select app.change_password(decode(repeat('00', 90), 'hex'), sha256('x'), 'x', 'x', null, null)`,
    `select app.end_sessions(decode(repeat('00', 90), 'hex'), '{session}', 'session.revoked', 'x', null, null)`,
  ]),
  ...planting('identity_auth'),

  ...of(
    'identity_mailer',
    'reads',
    [
      'reads mails without a lease of them',
      `select * from app.mail_of_invitation('{session}', '{session}', array[sha256('x')])`,
      `select * from app.mail_of_user('{session}', '{session}', array[sha256('x')], 60)`,
      `select * from app.mail_of_membership('{session}', '{session}')`,
      'select * from app.claim_mails(1000, 60)',
    ],
    [
      'reads with the lease of one mail those of others',
      `select u.email from app.claim_mails(1, 60) m, app.mail_of_user('{session}', m.lease_token, array[sha256('x')], 60) u`,
      `select u.email from app.claim_mails(9, 60) m, app.mail_of_membership(m.id, m.lease_token) u`,
    ],
    [
      'makes definer functions fail with rows of others',
      `select * from app.claim_mails(null, null)`,
      `select * from app.claim_mails(-1, 60)`,
      `select m.id, u.* from app.claim_mails(9, 60) m, app.mail_of_user(m.id, m.lease_token, array['\\x00'::bytea], 60) u`,
      `select m.id, u.* from app.claim_mails(9, 60) m, app.mail_of_user(m.id, m.lease_token, null, null) u`,
      `select app.end_lease('{session}', '{session}', repeat('x', 9999), 1e300)`,
    ],
    [
      'prints the plans inside definer functions',
      ...PRINTED,
      'select * from app.claim_mails(9, 60)',
      `select * from app.mail_of_invitation('{session}', '{session}', array[sha256('x')])`,
      `select * from app.mail_of_user('{session}', '{session}', array[sha256('x')], 60)`,
      `select * from app.mail_of_membership('{session}', '{session}')`,
    ],
    [
      'reads statistics of the planner',
      'select * from pg_stats',
      'select * from pg_stats_ext',
      'select * from pg_stat_activity',
      'select * from pg_prepared_statements',
    ],
  ),
  ...of(
    'identity_mailer',
    'refused',
    [
      'reads a table of users, sessions, tokens, tenants or jobs',
      'select id from app.users',
      'select email from app.users',
      'select password_hash from app.users',
      'select id from app.sessions',
      'select token_hash from app.tokens',
      'select id from app.memberships',
      'select legal_name from app.tenants',
      'select * from app.live_sessions',
      'select * from app.invitations',
      'select * from app.audit_log',
      'table app.roles',
      'table app.styles',
      'table app.vendor_accounts',
      'table app.data_keys',
      'select payload from app.jobs',
      'select lease_token from app.jobs',
      'table app.seal',
    ],
    [
      'writes a row that is a proof, or a mail',
      `insert into app.tokens (token_hash, purpose, user_id, expires_at) values (sha256('x'), 'password_reset', '{person}', 'infinity')`,
      `update app.tokens set token_hash = sha256('x')`,
      `insert into app.sessions (user_id) values ('{person}')`,
      `update app.users set password_hash = 'x'`,
      `insert into app.jobs (kind, payload, idempotency_key) values ('mail', '{"template":"password-reset","email":"{email}"}', 'x')`,
      `select app.enqueue('mail', '{"template":"password-reset","email":"{email}"}')`,
      'update app.jobs set run_at = now()',
      'delete from app.jobs',
      `insert into app.audit_log (tenant_id, action, target_type) values ('{B}', 'a.b', 'c')`,
    ],
    [
      'calls functions of other roles, and those inside of others',
      ...ENTRIES_OF_OTHERS,
      `select app.claim_jobs('planted', 9, 9, 9)`,
      `select app.claim_jobs('mail', 9, 9, 9)`,
      `select app.lease_jobs('planted', 9, 9, 9)`,
      `select app.leased_mail('{session}', '{session}')`,
      `select app.renew_lease('{session}', '{session}', 9)`,
      `select app.record_bounce('{session}', '{email}', 'x')`,
      `select * from app.authenticate(sha256('x'), 60)`,
      `select app.password_salt('{email}', '')`,
      `select app.put_invitation('{email}', 7::smallint, sha256('x'), 60)`,
      `select * from app.reset_password(sha256('x'), null, 'x', 'x', null, null)`,
      'select app.renew_seal()',
    ],
  ),
  ...of('identity_mailer', 'writes', [
    'ends or returns the jobs of others',
    `select 1 where app.end_lease('{session}', '{session}', null, null)`,
    `select 1 where app.return_job('{session}', '{session}', 'x')`,
  ]),
  ...planting('identity_mailer'),

  ...of(
    'identity_worker',
    'reads',
    ['sets the tenant of another', `select app.set_tenant('{B}')`, MEMBERS, 'select id, status from app.tenants'],
    [
      'reads mails',
      `select payload from app.claim_jobs('mail', 9, 60, 3)`,
      `select * from app.claim_jobs('MAIL', 9, 60, 3)`,
    ],
    [
      'reads rows of other tenants',
      'select id, absolute_expires_at from app.sessions',
      'select id, expires_at from app.tokens',
    ],
  ),
  ...of(
    'identity_worker',
    'refused',
    [
      'reads what no job needs',
      'select id from app.users',
      'select email, full_name from app.users',
      'select password_hash from app.users',
      'select token_hash from app.tokens',
      'select email from app.tokens',
      'select id from app.memberships',
      'table app.roles',
      'select token_key from app.sessions',
      'select csrf_secret from app.sessions',
      'select payload from app.jobs',
      'table app.vendor_accounts',
      'table app.data_keys',
      'select * from app.audit_log',
      'select slug from app.tenants',
      'select legal_name from app.tenants',
    ],
    [
      'sends mail, or makes a token',
      'select app.claim_mails(9, 60)',
      `select app.claim_jobs('mail', 9, 60, 3)`,
      `select app.lease_jobs('mail', 9, 60, 3)`,
      `select app.mail_of_user('{session}', '{session}', array[sha256('x')], 60)`,
      `select app.enqueue('mail', '{"template":"password-reset","email":"{email}"}')`,
      `insert into app.tokens (token_hash, purpose, user_id, expires_at) values (sha256('x'), 'password_reset', '{person}', now())`,
      `insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at) values (sha256('x'), 'invite', '{B}', 'x@y.test', 1, now())`,
    ],
    [
      'changes people',
      `update app.users set password_hash = 'x'`,
      `insert into app.users (email) values ('x@y.test')`,
      'update app.sessions set revoked_at = null',
      'update app.memberships set role_id = 1',
      `select app.end_sessions_of('{person}', null, null, 'a.b', 'x', null, null)`,
    ],
  ),
  ...printing('identity_worker'),
  ...planting('identity_worker'),

  ...of('identity_operator', 'reads', [
    'reads hashes through what it may change',
    'select id, email, full_name from app.users',
    'update app.users set disabled_at = disabled_at returning id',
    'select id, user_id, tenant_id from app.sessions',
    `select app.set_tenant('{B}')`,
    'select id, email from app.tokens',
    `update app.tokens set expires_at = now() returning id`,
  ]),
  ...of(
    'identity_operator',
    'refused',
    [
      'reads hashes',
      'select password_hash from app.users',
      'select token_key from app.sessions',
      'select token_hash from app.tokens',
      'table app.data_keys',
      'table app.vendor_accounts',
      'table app.jobs',
      'table app.styles',
      'select * from app.audit_log',
    ],
    [
      'takes an account over',
      `update app.users set password_hash = 'x'`,
      `update app.users set email = 'x@y.test'`,
      'update app.memberships set role_id = 1',
      `insert into app.tokens (token_hash, purpose, user_id, expires_at) values (sha256('x'), 'password_reset', '{person}', now())`,
      `insert into app.sessions (user_id) values ('{person}')`,
    ],
  ),
  ...of('identity_operator', 'writes', [
    'revives a session',
    'update app.sessions set revoked_at = null where revoked_at is not null',
  ]),
  ...impersonating('identity_operator'),
  ...printing('identity_operator'),
  ...planting('identity_publisher'),
  ...of('identity_publisher', 'refused', [
    'reads or writes a table, enters a tenant, or leases a job',
    'table app.events',
    'table app.event_actions',
    'table app.audit_log',
    'table app.jobs',
    'select id from app.users',
    'select id from app.tenants',
    'delete from app.events',
    'update app.events set published_at = now()',
    `insert into app.events (id, tenant_id, occurred_at, action, target_type) values ('{B}', '{B}', now(), 'a.b', 'c')`,
    'select app.current_tenant()',
    `select app.enter_to_read(sha256('x'))`,
    `select app.enter_to_write(sha256('x'), null, false)`,
    `select app.claim_jobs('mail', 9, 9, 9)`,
    `select app.enqueue('mail', '{}')`,
  ]),
  ...planting('identity_operator'),

  ...of(
    'identity_vault',
    'reads',
    [
      'sets the tenant of another',
      `select app.set_tenant('{B}')`,
      'select account_number from app.vendor_accounts',
      `select encode(wrapped_key, 'hex') from app.data_keys`,
    ],
    ['reads rows of other tenants', 'select account_number from app.vendor_accounts', 'table app.data_keys'],
  ),
  ...of('identity_vault', 'refused', [
    'reads beside the function',
    'select sealed_secret from app.vendor_accounts',
    'table app.users',
    'table app.sessions',
    'table app.tokens',
    'table app.memberships',
    'table app.jobs',
    'select * from app.audit_log',
  ]),
  ...impersonating('identity_vault'),
  ...printing('identity_vault'),
  ...planting('identity_vault'),
]

/** What an injection leaves on a pooled connection, and how it would fetch its loot after the next caller. */
export const POOLED: readonly {
  readonly what: string
  readonly plant: readonly string[]
  readonly loot: readonly string[]
}[] = [
  {
    what: 'a cursor in an open transaction',
    plant: [
      'commit',
      'begin',
      'declare loot cursor with hold for select email from app.users u join app.memberships m on m.user_id = u.id',
    ],
    loot: ['fetch all from loot'],
  },
  {
    what: "a statement under the name of one of the driver's",
    plant: [
      `do $$ declare s record; begin
         for s in select name, parameter_types::text[] as types from pg_prepared_statements where statement like '%app.memberships%' loop
           execute format('deallocate %I', s.name);
           execute format('prepare %I (uuid) as select set_config(''x.loot'', string_agg(email, '',''), false) from app.users u join app.memberships m on m.user_id = u.id and m.tenant_id = $1', s.name);
         end loop; end $$`,
    ],
    loot: [`select current_setting('x.loot', true)`],
  },
  { what: 'a temporary type', plant: ['create domain pg_temp.uuid as pg_catalog.uuid'], loot: ['select 1'] },
  {
    what: 'a setting',
    plant: [
      `select set_config('search_path', 'pg_temp', false)`,
      `select set_config('app.scope', '{scope of B}', false)`,
    ],
    loot: [`select current_setting('app.scope', true)`],
  },
]
