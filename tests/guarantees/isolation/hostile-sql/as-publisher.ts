import { type Attack, attacks, planting } from './attack.ts'

export const AS_PUBLISHER: readonly Attack[] = [
  ...planting('identity_publisher'),
  ...attacks('identity_publisher', 'refused', [
    'reads or writes a table, enters a tenant, or leases a job of another kind',
    'table app.events',
    'table app.event_actions',
    'table app.deleted_events',
    'table app.audit_log',
    'table app.jobs',
    'select id from app.users',
    'select id from app.tenants',
    'delete from app.events',
    'update app.events set job_id = null',
    `insert into app.events (id, tenant_id, occurred_at, action, target_type) values ('{B}', '{B}', now(), 'a.b', 'c')`,
    'select app.current_tenant()',
    `select app.enter_to_read(sha256('x'))`,
    `select app.enter_to_write(sha256('x'), null, false)`,
    `select app.claim_jobs('mail', 9, 9, 9)`,
    `select app.claim_jobs('planted', 9, 9, 9)`,
    `select app.lease_jobs('event', 9, 9, 9)`,
    `select app.renew_lease('{session}', '{session}', 9)`,
    `select app.return_job('{session}', '{session}', 'x')`,
    `select app.lease_ticket('{session}', '{session}')`,
    `select * from app.mail_of_user('{session}', '{session}', array[sha256('x')], 60)`,
    `select app.enqueue('mail', '{}')`,
  ]),
]
