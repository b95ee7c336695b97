import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { secretContext, VendorAccount } from '#shared/suppliers/account.ts'
import { askVendor, mustBeSendable } from '#shared/suppliers/ask-vendor.ts'
import { findVendor } from '#shared/suppliers/vendor-queries.ts'
import { checkLimits } from './check-limits.ts'
import { findVendorAccount, replaceVendorSecret } from './queries.ts'
import { accountOf, mustAccept, VENDOR_UNREACHABLE } from './refusals.ts'
import { storeSecret } from './store-secret.ts'
import { VendorSecret } from './vendor-secret.ts'

export const replaceSecret = endpoint({
  route: 'PUT /v1/vendor-accounts/{id}/secret',
  access: { permission: 'vendor.manage', transactions: 'by handle', stepUp: true },
  summary: 'Replace the secret with one that the vendor accepts',
  needs: ['vault'],
  body: v.object({ secret: VendorSecret }),
  reply: VendorAccount,
  problems: ['vendor-rejected', VENDOR_UNREACHABLE],
  limits: checkLimits,
  async handle(context) {
    const { params, body, principal, sql, runtime } = context
    const { account, vendor } = await sql.read(async (tx) => {
      const found = await accountOf(tx, params.id)
      return { account: found.account, vendor: await findVendor(tx, found.account.vendor.code) }
    })
    const credential = { accountNumber: account.account_number, secret: body.secret }
    mustBeSendable(vendor, credential)
    const replaced = await storeSecret({
      encrypt: async () => {
        const { secretVersion } = await sql.read((tx) => accountOf(tx, params.id))
        const next = secretContext(principal.tenant.id, params.id, secretVersion + 1)
        return { replacedVersion: secretVersion, encrypted: await runtime.vault.encrypt(body.secret, next, sql.proof) }
      },
      check: async () => mustAccept(await askVendor(runtime.config, vendor, credential)),
      store: ({ replacedVersion, encrypted }) =>
        sql.write(async (tx) => {
          if (!(await replaceVendorSecret(tx, { id: params.id, replacedVersion, encrypted }))) return null
          await recordAudit(
            { ...context, sql: tx },
            {
              action: 'vendor_account.secret_replaced',
              targetId: params.id,
              before: { secret_version: replacedVersion },
              after: { secret_version: replacedVersion + 1 },
            },
          )
          return findVendorAccount(tx, params.id)
        }),
    })
    return ok(replaced.account)
  },
})
