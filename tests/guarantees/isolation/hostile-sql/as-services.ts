import { type Attack, attacks, ENTRIES_OF_OTHERS, planting, printing } from './attack.ts'

export const AS_SERVICES: readonly Attack[] = [
  ...planting('identity_services'),
  ...printing('identity_services'),
  ...attacks('identity_services', 'reads', [
    'asks without the key of a service',
    `select * from app.introspect('billing', null, null, sha256('x'), null, 60, 0)`,
    `select * from app.introspect('billing', sha256('x'), sha256('x'), sha256('x'), null, 60, 0)`,
    `select * from app.changes('billing', null, null, '0', '{A}', 100)`,
    `select * from app.changes('billing', sha256('x'), sha256('x'), '0', '{A}', 100)`,
  ]),
  ...attacks(
    'identity_services',
    'refused',
    [
      'enters a tenant',
      ...ENTRIES_OF_OTHERS,
      `select app.service_proof(sha256('x'))`,
      `select app.enter_as_service('{B}')`,
    ],
    [
      'reads or writes a table, or checks a key or a session',
      'table app.service_keys',
      'select name from app.service_keys',
      'select legal_name from app.tenants',
      'table app.events',
      'select * from app.audit_log',
      'select email from app.users',
      'select token_key from app.sessions',
      'select role_id from app.memberships',
      'table app.live_sessions',
      `select app.service_of_key('billing', sha256('x'), null)`,
      `select * from app.authenticate(sha256('x'), 60, 0)`,
      `insert into app.service_keys (name, key_hash, created_by, created_reason) values ('mine', sha256('x'), 'x', 'x')`,
      'update app.service_keys set revoked_at = null',
      'delete from app.events',
      `select app.enqueue('mail', '{}')`,
    ],
  ),
]
