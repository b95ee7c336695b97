import { definerGuarantee } from './function-guarantees.ts'
import { type Body, type Guard, NO_EVENT_TRIGGER, replaced } from './guard.ts'
import { everyTableGuarantee } from './table-guarantees.ts'
import type { TwoTenants } from './two-tenants.ts'

/** The conditions in the functions that take the digest of a password, or the hash of a token. */
const proofs = ({ users, other }: TwoTenants): readonly (readonly [name: string, part: string, by: string])[] => [
  ['is_digest_of', 'v_equal and', ''],
  ['is_digest_of', 'and length(p_digest) = 32', ''],
  ['password_salt', 'left(v_stored, -44)', 'v_stored'],
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
  ['mail_of_user', 'v_user.id, v_job.created_at', `'${users[1]?.id}', v_job.created_at`],
  ['claim_jobs', `app.claimant_of(p_kind) <> coalesce(nullif(current_setting('role'), 'none'), session_user)`, 'false'],
  ['claimant_of', `when 'mail'`, `when 'none'`],
  ['claimant_of', `when 'event'`, `when 'none'`],
  ['leased_events', 'and j.lease_token = p_lease_token', ''],
  ['leased_events', 'and j.leased_until > now()', ''],
  ['leased_events', 'and e.job_id = p_job', ''],
  ['keep_events', 'and j.lease_token = p_lease_token', ''],
  ['keep_events', `and j.kind = 'event'`, ''],
  ['service_of_key', 'and k.name = p_name', ''],
  ['service_of_key', 'k.key_hash in (p_key, p_previous)', 'true'],
  ['service_of_key', 'and k.revoked_at is null', ''],
  ['service_of_key', 'and (k.expires_at is null or k.expires_at > now())', ''],
  ['introspect', 'if app.service_of_key(p_name, p_key, p_key_previous) is null', 'if false'],
  ['introspect', 'v_found.tenant_id is not null', 'true'],
  ['changes', 'if app.service_of_key(p_name, p_key, p_key_previous) is null', 'if false'],
  ['changes', 'and o.xact < pg_snapshot_xmin(pg_current_snapshot())', ''],
  ['issue_invitation', `perform app.enter_to_write(p_ticket, 'member.manage', true)`, 'perform 1'],
  ['issue_invitation', `'member.manage'`, `'company.read'`],
  ['issue_invitation', 'i.tenant_id = v_tenant and', ''],
  ['issue_invitation', 'm.tenant_id = v_tenant and', ''],
  ['issue_invitation', 'o.tenant_id = v_tenant and', ''],
  ['issue_invitation', `r.scope in (v_tenant, '00000000-0000-0000-0000-000000000000') and`, ''],
  ['issue_invitation', 'and r.deleted_at is null', ''],
  ['issue_invitation', `values (p_token_hash, 'invite', v_tenant`, `values (p_token_hash, 'invite', '${other}'`],
  ['issue_invitation', 'select v_tenant, u.id', `select '${other}', u.id`],
  ['issue_invitation', 'where m.accepted_at is null', ''],
  ['issue_invitation', 'when (v_rank <= v_own_rank) is not true', 'when false'],
  ['issue_invitation', 'when v_open_rank > v_own_rank', 'when false'],
  [
    'list_members',
    `t.tenant_id into v_tenant from app.check_ticket(p_ticket, 'session') t`,
    `encode(substr(p_ticket, 2, 16), 'hex') into v_tenant`,
  ],
  ['list_members', 'if v_tenant is null then', 'if false then'],
  ['list_members', 'm.tenant_id = v_tenant and', ''],
  ['list_members', 'and i.tenant_id = v_tenant', ''],
  ['list_members', 'and m.accepted_at is not null', ''],
  ['list_members', 'and i.consumed_at is null', ''],
  ['collect_permissions', 'p.role_id in (new.id, new.based_on)', 'true'],
  ['collect_permissions', 'in (new.id, new.based_on)', 'in (new.id)'],
  ['update_permissions', 'r.id in (select c.role_id from changed c)', 'false'],
  ['update_permissions', 'c.tenant_id is null', 'false'],
  ['service_proof', 'v_ticket.tenant_id is null', 'false'],
  ['proof_of_ticket', 's.proof_key', 's.ticket_key'],
  ['ticket_of_proof', 'where app.is_sealed(s.proof_key, p_proof)', ''],
  ['ticket_of_proof', 's.proof_key', 's.ticket_key'],
  ['check_ticket', 'app.is_sealed(v_key, p_ticket) is not true', 'false'],
  ['check_ticket', '(kind = any (p_kinds)) is not true', 'false'],
  ['check_ticket', 'substr(p_ticket, 64, 8) < timestamptz_send(clock_timestamp())', 'false'],
  ['enter', `current_setting('transaction_read_only') = 'off'`, 'false'],
  ['enter', 'if p_permission is null then', 'if false then'],
  ['enter', `raise exception 'the session is no longer live in this tenant' using errcode = 'TN401'`, 'null'],
  ['enter', 'v_live.tenant_id is distinct from v_found.tenant_id', 'false'],
  ['enter', 'v_live.role_id is distinct from v_found.role_id or', ''],
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

/** The conditions in the functions that write across tenants. */
function writers(world: TwoTenants, bodies: readonly Body[]): Guard[] {
  const callers: Readonly<Record<string, string>> = {
    end_sessions_of: 'end_sessions',
    record_new_password: 'change_password',
    is_digest_of: 'is_own_password',
    is_open_token: 'reset_password',
    leased_mail: 'mail_of_membership',
    claimant_of: 'claim_jobs',
    proof_of_ticket: 'service_proof',
    ticket_of_proof: 'enter',
  }
  const definitionOf = (name: string) => bodies.find((body) => body.name === name)?.definition ?? ''
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
    ...['enqueue_events()', 'leased_events(uuid, uuid)', 'keep_events(uuid, uuid, uuid[])'].map(
      (name): Guard => [
        `${name}: its grants`,
        [`grant execute on function app.${name} to identity_app`],
        [definerGuarantee(world, 'enqueue_events')],
      ],
    ),
    [
      'audit_failed_sign_ins: its grants',
      ['grant execute on function app.audit_failed_sign_ins(integer) to identity_app'],
      [definerGuarantee(world, 'audit_failed_sign_ins')],
    ],
    ...proofs(world).map(([name, part, by]) => guard(name, part, part, by)),
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
      'the drop of the policy that lets the owner fill the partition',
      "execute format('drop policy owner_moves on %s', v_table)",
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

/** The conditions in the functions that read across tenants. */
const readers = (world: TwoTenants, bodies: readonly Body[]): Guard[] =>
  bodies
    .filter(({ name }) => ['tenants_of_session', 'sessions_of_session'].includes(name))
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
    )

/** Each condition in the functions that bypass row security. */
export const functionGuards = (world: TwoTenants, bodies: readonly Body[]): Guard[] => [
  ...readers(world, bodies),
  ...writers(world, bodies),
]
