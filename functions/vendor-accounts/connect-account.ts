import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { isStorable, text } from '#shared/schema/text.ts'
import { invalid } from '#shared/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { enqueue } from '#shared/queue/queries.ts'
import { once } from '#shared/once.ts'
import { storeWithRetry } from '#shared/vault/until-stored.ts'
import { FIRST_VERSION, secretContext, VendorAccount } from '#shared/vendor/account.ts'
import { askVendor, mustBeSendable, REFUSED } from '#shared/vendor/ask-vendor.ts'
import { searchVendor } from '#shared/vendor/queries.ts'
import { checkLimits } from './check-limits.ts'
import { findVendorAccount, insertAccount } from './queries.ts'
import { refused } from './refusals.ts'
import { AccountNumber, VendorSecret } from './vendor-secret.ts'

const Label = text({ max: 100, example: 'Main account' })

export const connectAccount = endpoint({
  route: 'POST /v1/vendor-accounts',
  access: { permission: 'vendor.manage', transaction: 'own' },
  summary: 'Connect a vendor account: its secret is verified with the vendor, sealed, and never shown again',
  needs: ['vault'],
  body: v.object({
    vendor: v.pipe(v.string('must be a string'), v.check(isStorable, 'must be text'), v.examples(['ss-activewear'])),
    label: v.nullish(Label, null),
    account_number: AccountNumber,
    secret: VendorSecret,
  }),
  reply: VendorAccount,
  problems: ['vendor-rejected'],
  limits: checkLimits,
  async handle(context) {
    const { body, principal, sql, runtime } = context
    const { label, account_number: accountNumber, secret } = body
    const vault = runtime.vault
    const vendor = await sql.read((tx) => searchVendor(tx, body.vendor))
    if (vendor === null) throw invalid([{ pointer: '#/vendor', detail: 'is not a vendor' }])
    mustBeSendable(vendor, { accountNumber, secret })
    const id = randomUUID()
    const ask = once(() => askVendor(runtime.config, vendor, { accountNumber, secret }))
    const connected = await storeWithRetry(async () => {
      // Sealed before the vendor is asked: what cannot be stored is sent nowhere.
      const sealed = await vault.seal(secret, secretContext(principal.tenant.id, id, FIRST_VERSION))
      const lastError = await ask()
      if (lastError === REFUSED) throw refused()
      return sql.write(async (tx) => {
        const createdBy = principal.user.id
        await insertAccount(tx, { id, vendor: vendor.code, label, accountNumber, createdBy, lastError, sealed })
        await recordAudit(
          { ...context, sql: tx },
          {
            action: 'vendor_account.created',
            targetId: id,
            after: { vendor: vendor.code, account_number: accountNumber, last_error: lastError },
          },
        )
        if (lastError !== null) await enqueue(tx, 'verify-vendor', { account_id: id }, id)
        return findVendorAccount(tx, id)
      })
    })
    return ok(connected.account)
  },
})
