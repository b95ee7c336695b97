import { routeGroup } from '#shared/http/group.ts'
import { connectAccount } from './connect-account.ts'
import { listAccounts } from './list-accounts.ts'
import { listVendors } from './list-vendors.ts'
import { readAccount } from './read-account.ts'
import { replaceSecret } from './replace-secret.ts'
import { revokeAccount } from './revoke-account.ts'
import { verifyAccount } from './verify-account.ts'

export const group = routeGroup({
  name: 'vendor-accounts',
  bodyLimitBytes: 64 * 1024,
  endpoints: [listVendors, listAccounts, connectAccount, readAccount, replaceSecret, verifyAccount, revokeAccount],
})
