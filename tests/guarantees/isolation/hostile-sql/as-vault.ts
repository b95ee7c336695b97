import { type Attack, attacks, impersonating, onKeys, planting, printing } from './attack.ts'

export const AS_VAULT: readonly Attack[] = [
  ...attacks(
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
  ...attacks('identity_vault', 'refused', [
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
  ...onKeys('identity_vault'),
  ...planting('identity_vault'),
]
