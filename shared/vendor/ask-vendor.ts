import type { Config } from '#shared/config.ts'
import { type FieldError, invalid } from '#shared/problem.ts'
import { countMetric, log } from '#shared/log.ts'
import type { VendorCredential } from '#shared/vendor/adapter.ts'
import { credentialFaults, type Vendor, verifyCredential } from '#shared/vendor/vendor.ts'

/** What is kept as the reason when the vendor does not take a credential, in place of why there was no answer. */
export const REFUSED = 'refused'

/** Throws a 422 for a credential that cannot be sent to a vendor of this kind. */
export function mustBeSendable({ adapter }: Vendor, credential: VendorCredential): void {
  const errors = credentialFaults(adapter, credential).map(
    ({ field, detail }): FieldError => ({ pointer: `#/${field}`, detail }),
  )
  if (errors.length > 0) throw invalid(errors)
}

/** Asks a vendor about a credential: null when it is accepted, REFUSED, or the code of why there was no answer to it. */
export async function askVendor(config: Config, vendor: Vendor, credential: VendorCredential): Promise<string | null> {
  const answer = await verifyCredential(vendor, credential, { urls: config.vendor.urls })
  switch (answer.outcome) {
    case 'accepted':
      return null
    case 'refused':
      return REFUSED
    case 'unreachable':
      log.warn('a vendor gave no answer', { vendor: vendor.code, reason: answer.reason })
      countMetric('VendorUnreachable', vendor.code)
      return answer.reason
  }
}
