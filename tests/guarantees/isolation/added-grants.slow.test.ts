import { AssertionError } from 'node:assert'
import { afterAll, expect, test } from 'vitest'
import { type Guarantee, holdsAfter } from './guarantee.ts'
import {
  appendOnlyGuarantee,
  operatorGuarantee,
  operatorSecretsGuarantee,
  provenGuarantee,
  queueGuarantee,
  workerGuarantee,
} from './role-guarantees.ts'
import { sealedColumnsGuarantee } from './sealed-guarantees.ts'
import { createTwoTenants } from './two-tenants.ts'

// Some guards are the absence of a grant. So each of these grants is given here, alone, and a guarantee must break.
const world = await createTwoTenants('as migrated')
afterAll(() => world.close())

const absentGrants: readonly (readonly [guarantee: Guarantee, ...grants: string[]])[] = [
  [
    provenGuarantee(world, 'identity_auth'),
    'select (password_hash) on app.users to identity_auth',
    'insert on app.failed_sign_ins to identity_auth',
    'delete on app.tokens to identity_auth',
    'select on app.seal to identity_auth',
  ],
  [
    provenGuarantee(world, 'identity_mailer'),
    'select (email) on app.users to identity_mailer',
    'insert on app.failed_sign_ins to identity_mailer',
    'delete on app.jobs to identity_mailer',
  ],
  [
    queueGuarantee(world),
    ...['select', 'select (kind)', 'insert', 'delete'].map((what) => `${what} on app.jobs to identity_app`),
  ],
  [
    appendOnlyGuarantee(world),
    'update on app.audit_log to identity_worker',
    'delete on app.audit_log to identity_app',
    'select on app.audit_log_default to identity_app',
  ],
  [
    workerGuarantee(world),
    'select on app.audit_log to identity_worker',
    'insert on app.audit_log to identity_worker',
    'select on app.tenants to identity_worker',
  ],
  [
    operatorGuarantee(world),
    'select on app.jobs to identity_operator',
    'update (role_id) on app.memberships to identity_operator',
  ],
  [
    operatorSecretsGuarantee(world),
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
    sealedColumnsGuarantee(world),
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
    await holdsAfter(world.admin, [], guarantee)
    await expect(holdsAfter(world.admin, [`grant ${grant}`], guarantee)).rejects.toThrow(AssertionError)
  },
)
