import * as v from 'valibot'
import { Id } from '#shared/schema/id.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'
import type { EncryptionContext } from '#shared/vault/vault.ts'

const example = (text: string) => v.pipe(v.string(), v.examples([text]))

/** A vendor account, as the API shows it. It has no secret. */
export const VendorAccount = v.pipe(
  v.object({
    id: Id,
    vendor: v.object({ code: example('ss-activewear'), name: example('S&S Activewear') }),
    label: v.nullable(example('Main account')),
    account_number: example('51234'),
    status: v.picklist(['verified', 'unverified', 'revoked']),
    verified_at: v.pipe(v.nullable(Timestamp), v.description('When the vendor last accepted the secret.')),
    checked_at: v.pipe(v.nullable(Timestamp), v.description('When the secret was last checked with the vendor.')),
    last_error: v.pipe(
      v.nullable(example('timeout')),
      v.description('Why the last check did not verify the secret: `refused`, or why the vendor gave no verdict.'),
    ),
    created_by: v.nullable(Id),
    created_at: Timestamp,
    rotated_at: v.pipe(v.nullable(Timestamp), v.description('When the secret was last replaced.')),
    revoked_at: v.nullable(Timestamp),
  }),
  v.title('VendorAccount'),
)

export type VendorAccount = Readonly<v.InferOutput<typeof VendorAccount>>

/** The version of an account's first secret. Each replacement increments it. */
export const FIRST_VERSION = 1

/** Returns the encryption context of a vendor account's secret. */
export const secretContext = (tenantId: string, accountId: string, secretVersion: number): EncryptionContext => ({
  purpose: 'vendor-credential',
  tenantId,
  rowId: accountId,
  field: 'vendor_accounts.sealed_secret',
  secretVersion,
})
