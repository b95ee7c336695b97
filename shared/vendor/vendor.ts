import type { CredentialFault, VendorAdapter, VendorCredential } from '#shared/vendor/adapter.ts'
import { type UnreachableReason, VendorUnreachable } from '#shared/vendor/bounded-request.ts'
import { promoStandards } from '#shared/vendor/promo-standards.ts'
import { ssActivewear } from '#shared/vendor/ss-activewear.ts'
import type { VendorUrls } from '#shared/schema/vendor-urls.ts'

/** How long a check may take in all, in milliseconds. */
export const VERIFY_TIMEOUT_MS = 5000

const ADAPTERS = { 'ss-activewear': ssActivewear, promostandards: promoStandards } satisfies Record<
  string,
  VendorAdapter
>

/** What a vendor's row may give as its adapter. */
export type AdapterName = keyof typeof ADAPTERS

/** A vendor as platform configuration has it. */
export interface Vendor {
  readonly code: string
  readonly name: string
  readonly adapter: AdapterName
}

/**
 * What became of a check: the vendor accepted the credential, it refused it, or it gave no verdict, and why. A vendor that
 * is down, slow, or not understood is never a refusal.
 */
export type VerifyOutcome =
  | { readonly outcome: 'accepted' }
  | { readonly outcome: 'refused' }
  | { readonly outcome: 'unreachable'; readonly reason: UnreachableReason }

/**
 * What makes a credential impossible to send to a vendor of this kind, field by field; empty for none. To be asked before
 * `verifyCredential`, and answered as bad input: it says nothing of the vendor.
 */
export const credentialFaults = (adapter: AdapterName, credential: VendorCredential): readonly CredentialFault[] =>
  ADAPTERS[adapter].faults(credential)

/**
 * Asks a vendor whether a credential is good, in at most `timeoutMs` (VERIFY_TIMEOUT_MS). Sends nothing and answers
 * `not_configured` for a vendor without a URL. Rejects only when the credential has faults, with a RangeError that names
 * the fields. Neither the outcome nor an error holds anything of the credential or of what the vendor said.
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
