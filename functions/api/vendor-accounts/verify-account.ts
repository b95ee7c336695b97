import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { notFound } from '#shared/base/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { VendorAccount } from '#shared/suppliers/account.ts'
import { askVendor, REFUSED } from '#shared/suppliers/ask-vendor.ts'
import { openVendorCredential } from '#shared/suppliers/open-credential.ts'
import { findVendor, recordCheck } from '#shared/suppliers/vendor-queries.ts'
import { checkLimits } from './check-limits.ts'
import { accountOf, unreachable, VENDOR_UNREACHABLE } from './refusals.ts'

export const verifyAccount = endpoint({
  route: 'POST /v1/vendor-accounts/{id}/verify',
  access: { permission: 'vendor.manage', transactions: 'by handle' },
  summary: 'Verify the secret with the vendor again',
  needs: ['vault'],
  reply: VendorAccount,
  repeatable: true,
  problems: [VENDOR_UNREACHABLE],
  limits: checkLimits,
  async handle(context) {
    const { params, principal, sql, runtime, requestId, client } = context
    const tenantId = principal.tenant.id
    const vendor = await sql.read(async (tx) => findVendor(tx, (await accountOf(tx, params.id)).account.vendor.code))
    const credential = await openVendorCredential(
      runtime.vault,
      { proof: sql.proof, tenantId, accountId: params.id },
      { reason: 'verify', requestId, clientRequestId: client.requestId },
    )
    if (credential === null) throw notFound('the secret was erased during the request')
    const lastError = await askVendor(runtime.config, vendor, credential)
    const checked = await sql.write(async (tx) => {
      const { secretVersion } = credential
      const recorded = await recordCheck(tx, { accountId: params.id, secretVersion, lastError })
      if (recorded && (lastError === null || lastError === REFUSED)) {
        await recordAudit(
          { ...context, sql: tx },
          {
            action: lastError === null ? 'vendor_account.verified' : 'vendor_account.refused',
            targetId: params.id,
            after: { secret_version: secretVersion },
          },
        )
      }
      return accountOf(tx, params.id)
    })
    if (lastError !== null && lastError !== REFUSED) throw unreachable(lastError)
    return ok(checked.account)
  },
})
