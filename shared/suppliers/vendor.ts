import type { CredentialFault, VendorCredential } from '#shared/suppliers/adapter.ts'
import { type UnreachableReason, VendorUnreachable } from '#shared/outbound/bounded-request.ts'
import { promoStandards } from '#shared/suppliers/promo-standards.ts'
import { ssActivewear } from '#shared/suppliers/ss-activewear.ts'
import type { VendorUrls } from '#shared/schema/vendor-urls.ts'

/** The time limit of a verification, including the DNS lookup. */
export const VERIFY_TIMEOUT_MS = 5000

export const ADAPTERS = { 'ss-activewear': ssActivewear, promostandards: promoStandards }

/** The values of `adapter` in app.vendors. */
export type AdapterName = keyof typeof ADAPTERS

/** A row of app.vendors. */
export interface Vendor {
  readonly code: string
  readonly name: string
  readonly adapter: AdapterName
}

/** The result of a verification. `unreachable`: the vendor is down, slow, or sent an unexpected response. */
export type VerifyOutcome =
  | { readonly outcome: 'accepted' }
  | { readonly outcome: 'refused' }
  | { readonly outcome: 'unreachable'; readonly reason: UnreachableReason }

/**
 * Returns the fields that vendors of this adapter cannot receive, with the reason. Call it before `verifyCredential`, and
 * report the faults as invalid input.
 */
export const credentialFaults = (adapter: AdapterName, credential: VendorCredential): readonly CredentialFault[] =>
  ADAPTERS[adapter].faults(credential)

/**
 * Verifies a credential with its vendor, in at most `timeoutMs` (default VERIFY_TIMEOUT_MS). A vendor without a URL is
 * `unreachable` and receives no request. Throws a RangeError that names the fields if the credential has faults.
 * Neither the outcome nor an error quotes the credential or the vendor.
 */
export async function verifyCredential(
  vendor: Vendor,
  credential: VendorCredential,
  options: { readonly urls: VendorUrls; readonly timeoutMs?: number },
): Promise<VerifyOutcome> {
  const adapter = ADAPTERS[vendor.adapter]
  const faults = adapter.faults(credential)
  if (faults.length > 0)
    throw new RangeError(`The credential cannot be sent: ${faults.map(({ field }) => field).join(', ')}`)
  const url = options.urls.get(vendor.code)
  if (url === undefined) return { outcome: 'unreachable', reason: 'not_configured' }
  try {
    return { outcome: await adapter.verify(url, credential, options.timeoutMs ?? VERIFY_TIMEOUT_MS) }
  } catch (error) {
    if (error instanceof VendorUnreachable) return { outcome: 'unreachable', reason: error.reason }
    throw error
  }
}
