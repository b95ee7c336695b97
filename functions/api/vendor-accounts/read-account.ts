import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { notFound } from '#shared/base/problem.ts'
import { VendorAccount } from '#shared/suppliers/account.ts'
import { findVendorAccount } from './queries.ts'

export const readAccount = endpoint({
  route: 'GET /v1/vendor-accounts/{id}',
  access: { permission: 'vendor.manage' },
  summary: 'A vendor account, also a revoked one, without its secret',
  reply: VendorAccount,
  async handle({ params, sql }) {
    const found = await findVendorAccount(sql, params.id, ['verified', 'unverified', 'revoked'])
    if (found === null) throw notFound('no vendor account with this id')
    return ok(found.account)
  },
})
