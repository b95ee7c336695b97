import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { fault } from '#shared/schema/fault.ts'
import { isStorable, text } from '#shared/schema/text.ts'
import { invalid } from '#shared/base/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { enqueue } from '#shared/queue/queries.ts'
import { FIRST_VERSION, secretContext, VendorAccount } from '#shared/suppliers/account.ts'
import { askVendor, mustBeSendable, REFUSED } from '#shared/suppliers/ask-vendor.ts'
import { searchVendor } from '#shared/suppliers/vendor-queries.ts'
import { checkLimits } from './check-limits.ts'
import { findVendorAccount, insertAccount } from './queries.ts'
import { refused } from './refusals.ts'
import { storeSecret } from './store-secret.ts'
import { AccountNumber, VendorSecret } from './vendor-secret.ts'

const Label = text({ max: 100, example: 'Main account' })

export const connectAccount = endpoint({
  route: 'POST /v1/vendor-accounts',
  access: { permission: 'vendor.manage', transactions: 'by handle', stepUp: true },
  summary: 'Connect a vendor account: its secret is verified with the vendor, encrypted, and never shown again',
  needs: ['vault'],
  body: v.object({
    vendor: v.pipe(
      v.string(),
      v.check(isStorable, fault({ code: 'not-storable', must: 'be text' })),
      v.examples(['ss-activewear']),
    ),
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
    const vendor = await sql.read((tx) => searchVendor(tx, body.vendor))
    if (vendor === null) throw invalid([{ pointer: '#/vendor', code: 'unknown', kind: 'a vendor' }])
    mustBeSendable(vendor, { accountNumber, secret })
    const id = randomUUID()
    return storeSecret({
      encrypt: () => runtime.vault.encrypt(secret, secretContext(principal.tenant.id, id, FIRST_VERSION), sql.proof),
      check: async () => {
        const lastError = await askVendor(runtime.config, vendor, { accountNumber, secret })
        if (lastError === REFUSED) throw refused()
        return lastError
      },
      store: (encrypted, lastError) =>
        sql.answer(async (tx) => {
          await insertAccount(tx, { id, vendor: vendor.code, label, accountNumber, lastError, encrypted })
          await recordAudit(
            { ...context, sql: tx },
            {
              action: 'vendor_account.created',
              targetId: id,
              after: { vendor: vendor.code, account_number: accountNumber, last_error: lastError },
            },
          )
          if (lastError !== null) await enqueue(tx, 'verify-vendor', { account_id: id }, id)
          const connected = await findVendorAccount(tx, id)
          return connected === null ? null : ok(connected.account)
        }),
    })
  },
})
