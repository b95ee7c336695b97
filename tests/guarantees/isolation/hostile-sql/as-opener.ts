import { type Attack, attacks, ENTRIES_OF_OTHERS, onKeys, planting, PRINTED } from './attack.ts'

export const AS_OPENER: readonly Attack[] = [
  ...attacks(
    'identity_opener',
    'reads',
    [
      'opens a secret of another tenant without a committed audit entry',
      `select o.* from app.record_opening_for_service('{B}', 'sanmar', 'x', 'x', 'x') r,
         app.open_secret_for_service('{B}', r.account_id, r.entry_id) o`,
      `select * from app.open_secret_for_service('{B}', '{account}', '{session}')`,
      `select * from app.open_secret_for_service('{B}', '{account}', null)`,
    ],
    [
      'keeps a tenant that a function entered',
      `select app.record_opening_for_service('{B}', 'sanmar', 'x', 'x', repeat('x', 999))`,
      `select current_setting('app.scope') from app.record_opening_for_service('{B}', 'sanmar', 'x', 'x', 'x')`,
      `select set_config('app.scope', '{scope of B}', true)`,
      `select * from app.open_secret_for_service(null, '{account}', null)`,
    ],
    [
      'prints the plans inside definer functions',
      ...PRINTED,
      `select * from app.record_opening_for_service('{B}', 'sanmar', 'x', 'x', 'x')`,
      `select * from app.open_secret_for_service('{B}', '{account}', '{session}')`,
    ],
  ),
  ...attacks(
    'identity_opener',
    'refused',
    [
      'reads or writes a table',
      'table app.vendor_accounts',
      'select account_number from app.vendor_accounts',
      'table app.data_keys',
      'table app.audit_log',
      'table app.rate_limits',
      'delete from app.rate_limits',
      'select id from app.users',
      'select id from app.tenants',
      'table app.seal',
      `insert into app.audit_log (tenant_id, action, target_type) values ('{B}', 'vendor_account.opened', 'vendor_account')`,
    ],
    [
      'calls functions of other roles',
      ...ENTRIES_OF_OTHERS,
      `select app.record_opening('{account}', 'x', 'x', null)`,
      `select * from app.open_vendor_secret('{account}', '{session}')`,
      `select app.count_attempt(row(sha256('x'), 1, 1)::app.limit)`,
      `select app.enter(sha256('x'), null)`,
      `select app.enter_as_service('{B}')`,
      `select app.enqueue('mail', '{}')`,
      'select app.renew_seal()',
    ],
  ),
  ...onKeys('identity_opener'),
  ...planting('identity_opener'),
]
