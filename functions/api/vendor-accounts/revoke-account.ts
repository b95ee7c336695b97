import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { notFound } from '#shared/base/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { VendorAccount } from '#shared/suppliers/account.ts'
import { eraseSecret, findVendorAccount } from './queries.ts'

export const revokeAccount = endpoint({
  route: 'DELETE /v1/vendor-accounts/{id}',
  access: { permission: 'vendor.manage', stepUp: true },
  summary: 'Erase the secret irrevocably; the account stays in the list as revoked',
  reply: VendorAccount,
  async handle(context) {
    const { params, sql } = context
    const erased = await eraseSecret(sql, params.id)
    const found = await findVendorAccount(sql, params.id, ['verified', 'unverified', 'revoked'])
    if (found === null) throw notFound('no vendor account with this id')
    if (!erased) return ok(found.account)
    await recordAudit(context, {
      action: 'vendor_account.revoked',
      targetId: params.id,
      before: { vendor: found.account.vendor.code, account_number: found.account.account_number },
    })
    return ok(found.account)
  },
})
