import { AssertionError } from 'node:assert'
import postgres from 'postgres'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { urlFor } from '#infra/local/postgres/database.ts'
import { createTestDatabase, warmAppConnection } from '#tests/support/database.ts'
import { ticketFor } from '#tests/support/proof.ts'
import { definerGuarantee, definersGuarantee, isReader } from './function-guarantees.ts'
import { actorGuarantee, sealGuarantee } from './gate-guarantees.ts'
import { type Guarantee, holdsAfter } from './guarantee.ts'
import {
  invitationsGuarantee,
  lastOwnerGuarantee,
  liveSessionsGuarantee,
  revocationGuarantee,
} from './member-guarantees.ts'
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
import {
  everyTableGuarantee,
  exemptGuarantee,
  guaranteesOf,
  ownerGuarantee,
  partitionsGuarantee,
  tenantsGuarantee,
} from './table-guarantees.ts'
import { ACCOUNT_TABLES } from '#shared/doctor/catalogue.ts'
import { createTwoTenants, type TwoTenants } from './two-tenants.ts'

// A test that never fails proves nothing. So each guard is removed here, alone, and a guarantee must break.
const world = await createTwoTenants('every one')
const { admin } = world
const policies = await admin<
  {
    table: string
    policy: string
    command: 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE'
    role: string
    qual: string | null
    check: string | null
  }[]
>`
  select schemaname || '.' || tablename as table, policyname as policy, cmd as command, roles[1] as role,
         qual, with_check as check from pg_policies
   where permissive = 'PERMISSIVE' and format('%I.%I', schemaname, tablename)::regclass not in (select inhrelid from pg_inherits)
   order by 1, 2`
const bodies = await admin<{ name: string; definition: string }[]>`
  select oid::regproc::text as name, pg_get_functiondef(oid) as definition from pg_proc
   where pronamespace = 'app'::regnamespace and prokind = 'f'`
const [invitations] = await admin<
  { definition: string }[]
>`select pg_get_viewdef('app.invitations'::regclass) as definition`
const asMigrated = await createTwoTenants('as migrated')

afterAll(() => Promise.all([world.close(), asMigrated.close()]))

/** A guard, the statements that remove it, and the guarantees that must break. */
type Guard = readonly [guard: string, statements: readonly string[], needed: readonly Guarantee[]]

const definitionOf = (name: string): string => bodies.find((body) => body.name === name)?.definition ?? ''

/** Replaces a part of a statement wherever it occurs. Throws when the part is missing. */
function replaced(text: string, part: string, by: string): string {
  if (!text.includes(part)) throw new Error(`no ${part} in ${text}`)
  return text.replaceAll(part, by)
}

/** The conditions in the functions that take the digest of a password, or the hash of a token. */
const PROOFS: readonly (readonly [name: string, part: string, by: string])[] = [
  ['is_digest_of', 'v_equal and', ''],
  ['is_digest_of', 'and length(p_digest) = 32', ''],
  ['password_salt', `substring(coalesce(v_stored, v_decoy || '$' || repeat('A', 43)) from v_salt)`, 'v_stored'],
  ['is_own_password', 'and u.disabled_at is null', ''],
  ['sign_in', 'app.is_digest_of(p_digest, v_user.password_hash) and', ''],
  ['sign_in', 'disabled_at is null', 'id is not null'],
  ['rehash_password', 'u.email = p_email and', ''],
  ['rehash_password', 'and app.is_digest_of(p_digest, u.password_hash)', ''],
  ['change_password', 'perform app.enter_session(p_ticket)', 'perform 1'],
  ['change_password', 'u.id = v_ticket.user_id and', ''],
  ['change_password', 'and app.is_digest_of(p_digest, u.password_hash)', ''],
  ['change_password', 'v_ticket.session_id', 'null'],
  ['change_language', 'perform app.enter_session(p_ticket)', 'perform 1'],
  ['change_language', 'u.id = v_ticket.user_id and', ''],
  ['find_reset', `and r.purpose = 'password_reset'`, ''],
  ['find_reset', 'and r.consumed_at is null', ''],
  ['find_reset', 'm.user_id = u.id and', ''],
  ['find_reset', 'and m.accepted_at is not null', ''],
  ['find_reset', 'and m.revoked_at is null', ''],
  ['reset_password', `and t.purpose = 'password_reset'`, ''],
  ['reset_password', 'v_token.consumed_at is not null', 'false'],
  ['is_open_token', 'p_expires_at > now()', 'true'],
  ['verify_email', `and t.purpose = 'email_verify'`, ''],
  ['find_invitation', `and i.purpose = 'invite'`, ''],
  ['find_invitation', 'i.expires_at > now() and', ''],
  ['accept_invitation', `and t.purpose = 'invite'`, ''],
  ['accept_invitation', 'v_token.consumed_at is not null', 'false'],
  ['accept_invitation', '(v_token.expires_at > now()) is not true', 'false'],
  ['leased_mail', 'and j.lease_token = p_lease_token', ''],
  ['leased_mail', 'j.id = p_job and', ''],
  ['leased_mail', 'and j.leased_until > now()', ''],
  ['leased_mail', `and j.kind = 'mail'`, ''],
  ['mail_of_invitation', 'and i.tenant_id = j.tenant_id', ''],
  ['mail_of_membership', 'and m.tenant_id = j.tenant_id', ''],
  ['mail_of_membership', `j.payload ->> 'template' in ('membership-added', 'membership-removed')`, 'true'],
  ['mail_of_user', `v_job.payload ->> 'template' in ('email-verification', 'password-changed')`, 'true'],
  ['mail_of_user', 'v_user.id, v_job.created_at', `'${world.users[1]?.id}', v_job.created_at`],
  ['claim_jobs', `p_kind = 'mail'`, 'false'],
  ['service_of_key', 'and k.name = p_name', ''],
  ['service_of_key', 'k.key_hash in (p_key, p_previous)', 'true'],
  ['service_of_key', 'and k.revoked_at is null', ''],
  ['service_of_key', 'and (k.expires_at is null or k.expires_at > now())', ''],
  ['introspect', 'if app.service_of_key(p_name, p_key, p_key_previous) is null', 'if false'],
  ['introspect', 'v_found.tenant_id is not null', 'true'],
  ['changes', 'if app.service_of_key(p_name, p_key, p_key_previous) is null', 'if false'],
  ['changes', 'and o.xact < pg_snapshot_xmin(pg_current_snapshot())', ''],
  ['put_invitation', 'app.current_tenant()', `'${world.other}'`],
  ['put_invitation', 'where m.accepted_at is null', ''],
  ['list_members', 'app.current_tenant()', `'${world.other}'`],
  ['list_members', 'and m.accepted_at is not null', ''],
  ['list_members', 'and i.consumed_at is null', ''],
  ['service_proof', 'v_found.tenant_id is null or', ''],
  ['service_proof', 'or v_found.session_id is null', ''],
  ['service_proof', 's.proof_key', 's.ticket_key'],
  ['enter', 'and substr(p_proof, 61) = sha256(s.proof_key || v_body)', ''],
  ['enter', 's.proof_key', 's.ticket_key'],
  ['enter', `current_setting('transaction_read_only') = 'off'`, 'false'],
  ['enter', 'if p_permission is null then', 'if false then'],
  ['enter', `raise exception 'the session is no longer live in this tenant' using errcode = 'TN401'`, 'null'],
  ['enter', 'v_live.tenant_id is distinct from v_found.tenant_id', 'false'],
  ['enter', 'int4send(v_live.role_id) <> substr(p_proof, 49, 4) or', ''],
  ['enter', `or not (p_permission is null or v_live.permissions ?| array[p_permission, '*'])`, ''],
  ['enter', 'perform app.set_tenant(v_live.tenant_id, v_live.user_id)', 'perform 1'],
  ['enter_as_service', 's.tenant_id = p_tenant and', ''],
  ['enter_as_service', 'and s.role = session_user', ''],
  ['enter_as_service', 'and s.revoked_at is null', ''],
  ['enter_as_service', 't.id = p_tenant and', ''],
  ['enter_as_service', 'and t.deleted_at is null', ''],
  ['enter_as_service', 'and app.is_open(t.status)', ''],
  [
    'enter_as_service',
    `values (p_tenant, 'service.entered', 'service', jsonb_build_object('role', session_user))`,
    `select p_tenant, 'a.b', 'c', null::jsonb where false`,
  ],
  ['enter_as_service', 'perform app.set_tenant(p_tenant)', 'perform 1'],
  ['record_opening_for_service', 't.id = p_tenant and', ''],
  ['record_opening_for_service', 'and t.deleted_at is null', ''],
  ['record_opening_for_service', 'and app.is_open(t.status)', ''],
  ['record_opening_for_service', 'a.vendor = p_vendor and', ''],
  ['record_opening_for_service', 'and a.data_key_id is not null', ''],
  ['record_opening_for_service', `and a.last_error is distinct from 'refused'`, ''],
  ['record_opening_for_service', 'not v_counted.allowed', 'false'],
  ['record_opening_for_service', '|| uuid_send(p_tenant)', ''],
  ['record_opening_for_service', 'perform app.set_tenant(null)', 'perform 1'],
  ['open_secret_for_service', 'perform app.set_tenant(p_tenant)', 'perform 1'],
  ['open_secret_for_service', 'perform app.set_tenant(null)', 'perform 1'],
]

const guards: Guard[] = world.tables.flatMap((table): Guard[] => {
  const { name, column } = table
  const { read, leak, copy, insert, update, remove, system, unset } = guaranteesOf(world, table)
  const orNull = `${column} = (select app.current_tenant()) or ${column} is null`
  const all = [read, leak, copy, insert, update, remove, system, unset]
  const ofTable = name === 'app.tenants' ? [tenantsGuarantee(world)] : [exemptGuarantee]
  const own = policies.filter(({ table, role }) => table === name && role === 'identity_app')
  return [
    [`${name}: ENABLE`, [`alter table ${name} disable row level security`], [...all, ...ofTable, everyTableGuarantee]],
    [
      `${name}: FORCE`,
      [`alter table ${name} no force row level security`],
      [ownerGuarantee(world, table), everyTableGuarantee],
    ],
    ...policies
      .filter(({ table, role }) => table === name && role === 'identity_owner')
      .flatMap(({ policy }) =>
        [
          `drop policy ${policy} on ${name}`,
          ...['using', 'with check'].map((clause) => `alter policy ${policy} on ${name} ${clause} (true)`),
        ].map(
          (statement): Guard => [
            `${name}: the policy ${policy} (${statement})`,
            [statement],
            [ownerGuarantee(world, table)],
          ],
        ),
      ),
    ...own.flatMap(({ policy, command }): Guard[] => {
      const change = (to: string): string[] => [`alter policy ${policy} on ${name} ${to}`]
      const dropped = (needed: Guarantee[]): Guard => [
        `${name}: the policy ${policy}`,
        [`drop policy ${policy} on ${name}`],
        needed,
      ]
      const opened = (clause: string, condition: string, needed: Guarantee[]): Guard => [
        `${name}: the ${clause} of ${policy}, for ${condition}`,
        change(`${clause} (${condition})`),
        needed,
      ]
      const ofSelect = [dropped([read, copy]), opened('using', 'true', [read, leak, copy, unset])]
      const ofInsert = [
        dropped([insert]),
        opened('with check', 'true', [insert, system, unset]),
        opened('with check', orNull, [system]),
      ]
      const ofUpdate = [
        dropped([update]),
        opened('using', 'true', [update, unset]),
        opened('with check', 'true', [update, system]),
        opened('with check', orNull, [system]),
      ]
      const ofDelete = [dropped([remove]), opened('using', 'true', [remove, unset])]
      // Only a table with system rows can show that they are seen and changed.
      if (table.nullable) {
        ofSelect.push(opened('using', orNull, [unset]))
        ofUpdate.push(opened('using', orNull, [update, system]))
        ofDelete.push(opened('using', orNull, [remove, system]))
      }
      return { SELECT: ofSelect, INSERT: ofInsert, UPDATE: ofUpdate, DELETE: ofDelete }[command]
    }),
  ]
})

/** The event trigger would restore the guard of a partition immediately. */
const NO_EVENT_TRIGGER = 'alter event trigger guard_partitions disable'
for (const name of world.partitions) {
  guards.push([
    `${name}: ENABLE, with a grant`,
    [NO_EVENT_TRIGGER, `alter table ${name} disable row level security`, `grant select on ${name} to identity_app`],
    [partitionsGuarantee(world), everyTableGuarantee, exemptGuarantee],
  ])
}

const policiesFor = (role: string) =>
  policies.filter((policy) => policy.role === role && !ACCOUNT_TABLES.includes(policy.table))

for (const name of ACCOUNT_TABLES) {
  guards.push(
    [`${name}: ENABLE`, [`alter table ${name} disable row level security`], [everyTableGuarantee, exemptGuarantee]],
    [`${name}: FORCE`, [`alter table ${name} no force row level security`], [everyTableGuarantee, exemptGuarantee]],
  )
}
for (const { table, policy, qual, check } of policies.filter(({ table }) => ACCOUNT_TABLES.includes(table))) {
  const change = (to: string): Guard => [
    `${table}: the policy ${policy} (${to})`,
    [to === 'dropped' ? `drop policy ${policy} on ${table}` : `alter policy ${policy} on ${table} ${to}`],
    [accountsGuarantee(world)],
  ]
  guards.push(change('dropped'))
  if ((qual ?? 'true') !== 'true') guards.push(change('using (true)'))
  if (check !== null) guards.push(change('with check (true)'))
}

/** Each policy of a role. */
const dropped = (role: string, guarantee: Guarantee): Guard[] =>
  policiesFor(role).map(({ table, policy }) => [
    `${table}: the policy ${policy}`,
    [`drop policy ${policy} on ${table}`],
    [guarantee],
  ])

/** The tenant, which a further policy of a role ignores. */
const opened = (role: string, command: string, tables: readonly string[], guarantee: Guarantee): Guard[] =>
  tables.map((table) => {
    const clause = command === 'insert' ? 'with check' : 'using'
    return [
      `${table}: the tenant, for ${command} by ${role}`,
      [`create policy open on ${table} for ${command} to ${role} ${clause} (true)`],
      [guarantee, everyTableGuarantee],
    ]
  })

const CURRENT_TENANT = 'create or replace function app.current_tenant() returns uuid language sql stable parallel safe'
guards.push(
  [
    'the nullif of current_tenant',
    [`${CURRENT_TENANT} return left(current_setting('app.scope', true), 32)::uuid`],
    world.tables.map((table) => guaranteesOf(world, table).unset),
  ],
  [
    'the null of current_tenant while no tenant is set',
    [
      `${CURRENT_TENANT} return coalesce(nullif(left(current_setting('app.scope', true), 32), ''), '${world.own}')::uuid`,
    ],
    world.tables.map((table) => guaranteesOf(world, table).unset),
  ],
  [
    'the security_invoker of live_sessions and of the view below it',
    ['live_sessions', 'checked_sessions'].map((view) => `alter view app.${view} set (security_invoker = false)`),
    [liveSessionsGuarantee(world), everyTableGuarantee],
  ],
  [
    'the security_invoker of live_sessions, with a superuser as owner',
    ['alter view app.live_sessions set (security_invoker = false)', 'alter view app.live_sessions owner to postgres'],
    // identity_gate alone reads the view, and its policies show it every row.
    [everyTableGuarantee],
  ],
  ...dropped('identity_resolver', definersGuarantee(world)),
  ...dropped('identity_gate', definersGuarantee(world)),
  ...dropped('identity_worker', workerGuarantee(world)),
  ...dropped('identity_operator', operatorGuarantee(world)),
  ...policiesFor('identity_operator').flatMap(({ table, policy }): Guard[] => [
    [
      `${table}: the role of ${policy}`,
      [`alter policy ${policy} on ${table} to identity_operator, identity_app`],
      [
        ...world.tables.filter(({ name }) => name === table).map((of) => guaranteesOf(world, of).read),
        everyTableGuarantee,
      ],
    ],
    [
      `${table}: the SELECT of ${policy}`,
      [`drop policy ${policy} on ${table}`, `create policy ${policy} on ${table} to identity_operator using (true)`],
      [operatorGuarantee(world), everyTableGuarantee],
    ],
  ]),
  ...opened('identity_worker', 'all', ['app.tenants', 'app.vendor_prices'], workerGuarantee(world)),
  ...opened('identity_operator', 'update', ['app.tenants'], operatorGuarantee(world)),
  ...opened(
    'identity_operator',
    'insert',
    ['app.tenants', 'app.memberships', 'app.audit_log'],
    operatorGuarantee(world),
  ),
  ...opened('identity_vault', 'select', ['app.data_keys', 'app.vendor_accounts'], vaultGuarantee(world)),
  ...opened('identity_vault', 'update', ['app.data_keys', 'app.vendor_accounts'], vaultGuarantee(world)),
  ...opened('identity_vault', 'insert', ['app.data_keys', 'app.audit_log'], vaultGuarantee(world)),
  ...bodies
    .filter(({ name }) => isReader(name))
    .flatMap(({ name, definition }) =>
      [
        's.revoked_at is null',
        's.idle_expires_at > now()',
        's.absolute_expires_at > now()',
        's.id = ticket.session_id',
      ].map(
        (condition): Guard => [
          `${name}: ${condition}`,
          [replaced(definition, condition, 'true')],
          [definerGuarantee(world, name)],
        ],
      ),
    ),
  ...writers(),
  ['audit_log: its actor', ['drop policy actor_insert on app.audit_log'], [actorGuarantee(world)]],
  [
    'the user of a ticket as its actor',
    [`create or replace function app.current_actor() returns uuid language sql stable return null::uuid`],
    [actorGuarantee(world)],
  ],
  [
    'the length of a scope',
    [replaced(definitionOf('current_tenant'), 'pg_catalog.length(v_scope) operator(pg_catalog.=) 64', 'true')],
    [sealGuarantee(world)],
  ],
  ...[
    `(purpose = 'invite'::text)`,
    '(consumed_at IS NULL)',
    '(tenant_id = ( SELECT current_tenant() AS current_tenant))',
  ].map(
    (condition): Guard => [
      `app.invitations: ${condition}`,
      [
        `create or replace view app.invitations with (security_invoker = true) as ${replaced(
          invitations?.definition ?? '',
          condition,
          'true',
        )}`,
        // The policy has two of the conditions too.
        'alter policy app_invitations on app.tokens using (true)',
      ],
      [invitationsGuarantee(world)],
    ],
  ),
  [
    'the security_invoker of invitations',
    ['alter view app.invitations set (security_invoker = false)'],
    [everyTableGuarantee],
  ],
)

/** The conditions in the functions that write across tenants. */
function writers(): Guard[] {
  const callers: Readonly<Record<string, string>> = {
    end_sessions_of: 'end_sessions',
    record_new_password: 'change_password',
    is_digest_of: 'is_own_password',
    is_open_token: 'reset_password',
    leased_mail: 'mail_of_membership',
    claim_jobs: 'claim_mails',
  }
  const guard = (name: string, what: string, part: string, by: string, ...more: string[]): Guard => [
    `${name}: ${what}`,
    [replaced(definitionOf(name), part, by), ...more],
    [definerGuarantee(world, callers[name] ?? name)],
  ]
  const ofJob = `coalesce((p_payload ->> 'tenant_id')::uuid, app.current_tenant())`
  const anyTenant = 'alter policy resolver_enqueue on app.jobs using (true)'
  return [
    guard('enqueue', 'its tenant, with that of the payload instead', 'app.current_tenant()', ofJob),
    guard('enqueue', 'its tenant and its policy', 'app.current_tenant()', ofJob, anyTenant),
    guard('enqueue', 'its tenant, with null instead', 'app.current_tenant()', 'null', anyTenant),
    guard('enqueue', 'its ON CONFLICT', 'on conflict do nothing', ''),
    guard(
      'enqueue',
      'the tenant of the job that it returns, and its policy',
      'j.tenant_id = v_tenant or (j.tenant_id is null and v_tenant is null)',
      'true',
      anyTenant,
    ),
    [
      'enqueue: the tenant in the key',
      ['create unique index on app.jobs (kind, idempotency_key)'],
      [definerGuarantee(world, 'enqueue'), everyTableGuarantee],
    ],
    ...['m.user_id = p_user', 'm.accepted_at is not null', 'm.revoked_at is null'].map((condition) =>
      guard('record_new_password', condition, condition, 'true'),
    ),
    ...['m.user_id = f.user_id', 'm.accepted_at <= f.occurred_at', 'coalesce(m.revoked_at > f.occurred_at, true)'].map(
      (condition) => guard('audit_failed_sign_ins', condition, condition, 'true'),
    ),
    guard(
      'add_event',
      'the tenant of the entry',
      'new.id, new.tenant_id',
      'new.id, (select min(id::text)::uuid from app.tenants)',
    ),
    ...['claim_events(integer, integer)', 'end_event_leases(uuid, jsonb)'].map(
      (name): Guard => [
        `${name}: its grants`,
        [`grant execute on function app.${name} to identity_app`],
        [definerGuarantee(world, 'claim_events')],
      ],
    ),
    [
      'audit_failed_sign_ins: its grants',
      ['grant execute on function app.audit_failed_sign_ins(integer) to identity_app'],
      [definerGuarantee(world, 'audit_failed_sign_ins')],
    ],
    ...PROOFS.map(([name, part, by]) => guard(name, part, part, by)),
    guard(
      'end_sessions',
      'its ticket',
      'v_ticket.user_id',
      '(select s.user_id from app.sessions s where s.id = p_session)',
    ),
    ...['s.user_id = p_user', 's.revoked_at is null', 's.id = p_session', 'e.live and'].map((condition) =>
      guard('end_sessions_of', condition, condition, condition === 'e.live and' ? '' : 'true'),
    ),
    ...['l.user_id = p_user', 'l.idle_expires_at > now()'].map((condition) =>
      guard('end_unused_sessions', condition, condition, 'true'),
    ),
    guard('end_unused_sessions', 'the tenant of the session', 'select e.tenant_id', 'select app.current_tenant()'),
    guard('end_sessions_of', 'its liveness', 's.id = p_session and s.idle_expires_at > now()', 's.id = p_session'),
    guard('end_sessions_of', 'the tenant of the session', 'select e.tenant_id', 'select app.current_tenant()'),
    guard('end_sessions_of', 'the session that it keeps', 's.id is distinct from p_kept', 'true'),
    guard(
      'open_vendor_secret',
      'its tenant, and its policies',
      'a.tenant_id = app.current_tenant()',
      'true',
      'alter policy resolver_open on app.vendor_accounts using (true)',
      'alter policy resolver_open on app.data_keys using (true)',
      'alter policy resolver_openings on app.audit_log using (true)',
    ),
    guard(
      'open_vendor_secret',
      'the tenant of the key, and its policy',
      'and k.tenant_id = a.tenant_id',
      '',
      'alter policy resolver_open on app.data_keys using (true)',
    ),
    guard('open_vendor_secret', 'its audit entry', 'e.id = p_entry and', ''),
    guard('open_vendor_secret', 'the account of its audit entry', 'and e.target_id = a.id', ''),
    guard('open_vendor_secret', 'the commit of its audit entry', 'e.occurred_at < now() and', ''),
    guard('open_vendor_secret', 'the age of its audit entry', "and e.occurred_at > now() - interval '30 seconds'", ''),
    ...['identity_app', 'identity_worker', 'identity_operator'].map(
      (role): Guard => [
        `open_vendor_secret: no grant to ${role}`,
        [`grant execute on function app.open_vendor_secret(uuid, uuid) to ${role}`],
        [definerGuarantee(world, 'open_vendor_secret')],
      ],
    ),
    [
      'record_opening_for_service: the tenant of its policy',
      ['alter policy gate_choose on app.vendor_accounts using (true)'],
      [definerGuarantee(world, 'record_opening_for_service')],
    ],
    ...['record_opening_for_service(uuid, text, text, text, text)', 'open_secret_for_service(uuid, uuid, uuid)'].map(
      (name): Guard => [
        `${name}: its grants`,
        [`grant execute on function app.${name} to identity_vault`],
        [definerGuarantee(world, 'open_secret_for_service')],
      ],
    ),
    [
      'create_audit_partition: its grants',
      ['grant execute on function app.create_audit_partition(date) to identity_app'],
      [definerGuarantee(world, 'create_audit_partition')],
    ],
    guard(
      'create_audit_partition',
      'the guard of the partition',
      'perform app.enforce_tenant(v_table::regclass)',
      'perform 1',
      NO_EVENT_TRIGGER,
    ),
    guard(
      'create_audit_partition',
      'the drop of the policy that lets the owner move rows',
      'drop policy owner_moves on app.audit_log_default',
      'perform 1',
    ),
    guard(
      'create_audit_partition',
      'the move out of the default partition',
      'delete from app.audit_log_default where',
      'delete from app.audit_log_default where false and',
    ),
  ]
}

describe.each(guards)('without %s', (_guard, statements, needed) => {
  test.each(needed)('breaks: $title', async (guarantee) => {
    await holdsAfter(admin, [], guarantee)
    await expect(holdsAfter(admin, statements, guarantee)).rejects.toThrow(AssertionError)
  })
})

// The copy above has every grant. These guards are the absence of a grant, so they need the grants of the migrations.
const absentGrants: readonly (readonly [guarantee: Guarantee, ...grants: string[]])[] = [
  [
    provenGuarantee(asMigrated, 'identity_auth'),
    'select (password_hash) on app.users to identity_auth',
    'insert on app.failed_sign_ins to identity_auth',
    'delete on app.tokens to identity_auth',
    'select on app.seal to identity_auth',
  ],
  [
    provenGuarantee(asMigrated, 'identity_mailer'),
    'select (email) on app.users to identity_mailer',
    'insert on app.failed_sign_ins to identity_mailer',
    'delete on app.jobs to identity_mailer',
  ],
  [
    queueGuarantee(asMigrated),
    ...['select', 'select (kind)', 'insert', 'delete'].map((what) => `${what} on app.jobs to identity_app`),
  ],
  [
    appendOnlyGuarantee(asMigrated),
    'update on app.audit_log to identity_worker',
    'delete on app.audit_log to identity_app',
    'select on app.audit_log_default to identity_app',
  ],
  [
    workerGuarantee(asMigrated),
    'select on app.audit_log to identity_worker',
    'insert on app.audit_log to identity_worker',
    'select on app.tenants to identity_worker',
  ],
  [
    operatorGuarantee(asMigrated),
    'select on app.jobs to identity_operator',
    'update (role_id) on app.memberships to identity_operator',
  ],
  [
    operatorSecretsGuarantee(asMigrated),
    ...[
      'select (password_hash) on app.users',
      'update (password_hash) on app.users',
      'select (token_key) on app.sessions',
      'select (csrf_secret) on app.sessions',
      'select (token_hash) on app.tokens',
      'delete on app.tenants',
      'delete on app.memberships',
      'delete on app.rate_limits',
      'truncate on app.roles',
    ].map((grant) => `${grant} to identity_operator`),
  ],
  [
    sealedColumnsGuarantee(asMigrated),
    'select (sealed_secret) on app.vendor_accounts to identity_app',
    'select (data_key_id) on app.vendor_accounts to identity_app',
    'update (account_number) on app.vendor_accounts to identity_app',
    'delete on app.vendor_accounts to identity_app',
    'select (id) on app.data_keys to identity_app',
    'update (status) on app.data_keys to identity_app',
    'select (sealed_secret) on app.vendor_accounts to identity_vault',
    'update (secret_version) on app.vendor_accounts to identity_vault',
    'delete on app.data_keys to identity_vault',
    'select on app.tokens to identity_vault',
    'select (id) on app.vendor_accounts to identity_worker',
    'select (wrapped_key) on app.data_keys to identity_operator',
    'execute on function app.open_vendor_secret(uuid, uuid) to identity_worker',
  ],
]
test.each(absentGrants.flatMap(([guarantee, ...grants]) => grants.map((grant) => ({ grant, guarantee }))))(
  'with a grant of $grant breaks: $guarantee.title',
  async ({ grant, guarantee }) => {
    await holdsAfter(asMigrated.admin, [], guarantee)
    await expect(holdsAfter(asMigrated.admin, [`grant ${grant}`], guarantee)).rejects.toThrow(AssertionError)
  },
)

test('every policy is removed in some test', () => {
  const text = guards.map(([guard]) => guard).join('\n')
  for (const { table, policy } of policies) expect(text).toContain(`${table}: the policy ${policy}`)
})

describe('on its own copy', () => {
  /** Removes a guard and expects a guarantee to break. Passes it two connections of identity_app. */
  async function breaks(
    statement: string,
    holdsOn: (world: TwoTenants) => (app: postgres.Sql, second: postgres.Sql) => Promise<void>,
  ): Promise<void> {
    const copy = await createTwoTenants('as migrated')
    const app = await warmAppConnection(copy.database)
    const second = await warmAppConnection(copy.database)
    try {
      await holdsOn(copy)(app, second)
      await copy.admin.unsafe(statement)
      await expect(holdsOn(copy)(app, second)).rejects.toThrow(AssertionError)
    } finally {
      await Promise.all([app.end(), second.end()])
      await copy.close()
    }
  }

  test('without sessions_revocation_is_a_key_change a revocation overtakes a write', async () => {
    await breaks(
      'alter table app.sessions drop constraint sessions_revocation_is_a_key_change',
      (copy) => revocationGuarantee(copy).holds,
    )
  })

  /** Expects a guarantee to hold on a fresh database, and to break after each of the statements alone. */
  async function eachBreaks(
    prepare: (admin: postgres.Sql) => Promise<readonly [guarantee: Guarantee, statements: readonly string[]]>,
  ): Promise<void> {
    const database = await createTestDatabase()
    const admin = postgres(urlFor(inject('adminUrl'), { database: database.name }), { max: 1, onnotice: () => {} })
    const [guarantee, statements] = await prepare(admin)
    await holdsAfter(admin, [], guarantee)
    for (const statement of statements) {
      await expect(holdsAfter(admin, [statement], guarantee), statement).rejects.toThrow(AssertionError)
    }
    await admin.end()
    await database.drop()
  }

  test('without memberships_keep_an_owner, or a part of it, a tenant loses its last owner', () =>
    eachBreaks(async (admin) => {
      const [row] = await admin<{ tenant: string; definition: string }[]>`
        select id as tenant, pg_get_functiondef('app.keep_an_owner'::regproc) as definition from app.tenants limit 1`
      const { tenant = '', definition = '' } = row ?? {}
      const parts = [
        'drop trigger memberships_keep_an_owner on app.memberships',
        'alter table app.memberships disable trigger memberships_keep_an_owner',
        replaced(definition, 'm.role_id = 1', 'true'),
        replaced(definition, 'new.tenant_id = old.tenant_id and', ''),
        replaced(definition, 'new.role_id = 1 and', ''),
        replaced(definition, 'and new.accepted_at is not null', ''),
        replaced(definition, 'and new.revoked_at is null)', ')'),
        // The policy hides the users whom the tenant only invited.
        `${replaced(definition, 'and m.accepted_at is not null', '')}; alter policy people_of_tenant on app.users using (true)`,
        replaced(definition, 'and m.revoked_at is null)', ')'),
      ]
      return [lastOwnerGuarantee(tenant), parts]
    }))

  test('without one of the triggers, a session or a token lives again', () =>
    eachBreaks(async () => {
      const triggers = ['sessions_stay_ended', 'tokens_stay_consumed', 'tokens_expire_in_time']
      return [endsOnceGuarantee, triggers.map((name) => `drop trigger ${name} on app.${name.split('_')[0]}`)]
    }))

  test('without vendor_accounts_key_is_usable or vendor_accounts_versions_grow, or a part of them, secrets move between keys', () =>
    eachBreaks(async (admin) => {
      const [own = '', other = ''] = (await admin<{ id: string }[]>`select id from app.tenants`).map(({ id }) => id)
      const [row] = await admin<{ grow: string }[]>`
        select pg_get_functiondef('app.secret_versions_grow'::regproc) as grow`
      const noKey = 'alter table app.vendor_accounts drop constraint vendor_accounts_key_is_usable'
      const parts = [
        noKey,
        `${noKey}, add foreign key (data_key_id) references app.data_keys (id)`,
        `alter table app.data_keys add unique (id, tenant_id);
         ${noKey}, add foreign key (data_key_id, tenant_id) references app.data_keys (id, tenant_id)`,
        `alter table app.data_keys add unique (id, usable);
         ${noKey}, add foreign key (data_key_id, data_key_usable) references app.data_keys (id, usable)`,
        'drop trigger vendor_accounts_versions_grow on app.vendor_accounts',
        'alter table app.vendor_accounts disable trigger vendor_accounts_versions_grow',
        replaced(row?.grow ?? '', 'new.secret_version < old.secret_version', 'false'),
      ]
      return [sealedRowsGuarantee([own, other]), parts]
    }))

  test('without the start of the transaction in the seal, a kept setting opens the next transaction', async () => {
    const copy = await createTwoTenants('as migrated')
    const app = await warmAppConnection(copy.database)
    const rowsByKeptSetting = async () => {
      const ticket = await ticketFor(copy.admin, copy.own)
      await app.begin(async (tx) => {
        await tx`select app.enter_to_write(${ticket}, null, false)`
        await tx`
          select set_config(name, current_setting(name), false) from unnest(array['app.scope', 'app.scope_seal']) as name`
      })
      return (await app`select from app.memberships`).length
    }
    try {
      await expect(rowsByKeptSetting()).rejects.toMatchObject({ code: 'TN500' })
      await app`reset all`
      for (const name of ['app.current_tenant', 'app.set_tenant']) {
        const [row] = await copy.admin<{ text: string }[]>`select pg_get_functiondef(${name}::regproc) as text`
        const part = 'operator(pg_catalog.||) pg_catalog.timestamptz_send(pg_catalog.transaction_timestamp())'
        await copy.admin.unsafe(replaced(row?.text ?? '', part, ''))
      }
      expect(await rowsByKeptSetting()).toBeGreaterThan(0)
    } finally {
      await app.end()
      await copy.close()
    }
  })

  test('without the nullif of current_tenant a reused connection fails', async () => {
    const copy = await createTwoTenants('as migrated')
    const [table] = copy.tables
    if (table === undefined) throw new Error('there is no tenant table')
    await copy.admin.unsafe(`${CURRENT_TENANT} return left(current_setting('app.scope', true), 32)::uuid`)
    const cold = postgres(copy.database.appUrl, { max: 1 })
    expect(await cold.unsafe(`table ${table.name}`)).toHaveLength(0)
    await cold.end()
    const warm = await warmAppConnection(copy.database)
    await expect(warm.unsafe(`table ${table.name}`)).rejects.toMatchObject({ code: '22P02' })
    await warm.end()
    await copy.close()
  })
})
