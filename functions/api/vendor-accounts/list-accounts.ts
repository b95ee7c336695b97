import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { AgePageQuery, page, pageOf, someOf } from '#shared/schema/page.ts'
import { ok } from '#shared/http/reply.ts'
import { VendorAccount } from '#shared/suppliers/account.ts'
import { type AccountStatus, searchVendorAccounts } from './queries.ts'

const STATUSES: readonly AccountStatus[] = ['verified', 'unverified', 'revoked']

export const listAccounts = endpoint({
  route: 'GET /v1/vendor-accounts',
  access: { permission: 'vendor.manage' },
  summary: 'The vendor accounts of the tenant, oldest first, without their secrets',
  query: v.object({ ...AgePageQuery, status: v.optional(someOf(STATUSES), 'verified,unverified') }),
  reply: pageOf(VendorAccount),
  async handle({ query: { status, cursor = null, limit }, sql }) {
    const rows = await searchVendorAccounts(sql, { statuses: status, after: cursor, limit })
    return ok(page(rows, limit))
  },
})
