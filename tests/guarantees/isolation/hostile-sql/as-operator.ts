import { type Attack, attacks, impersonating, onKeys, planting, printing } from './attack.ts'

export const AS_OPERATOR: readonly Attack[] = [
  ...attacks('identity_operator', 'reads', [
    'reads hashes through what it may change',
    'select id, email, full_name from app.users',
    'update app.users set disabled_at = disabled_at returning id',
    'select id, user_id, tenant_id from app.sessions',
    `select app.set_tenant('{B}')`,
    'select id, email from app.tokens',
    `update app.tokens set expires_at = now() returning id`,
  ]),
  ...attacks(
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
  ...attacks('identity_operator', 'writes', [
    'revives a session',
    'update app.sessions set revoked_at = null where revoked_at is not null',
  ]),
  ...attacks('identity_operator', 'writes', [
    'revives the password resets of a user',
    `update app.users set resets_valid_from = '-infinity' where resets_valid_from > '-infinity'`,
    `update app.users set resets_valid_from = resets_valid_from - interval '1 hour' where resets_valid_from > '-infinity'`,
  ]),
  ...impersonating('identity_operator'),
  ...printing('identity_operator'),
  ...onKeys('identity_operator'),
  ...planting('identity_operator'),
]
