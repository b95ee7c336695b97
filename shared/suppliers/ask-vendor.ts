import type { Config } from '#shared/base/config.ts'
import type { FieldFault } from '#shared/schema/field-error.ts'
import { invalid } from '#shared/base/problem.ts'
import { log } from '#shared/base/log.ts'
import { countMetric } from '#shared/base/metrics.ts'
import type { CredentialFault, VendorCredential } from '#shared/suppliers/adapter.ts'
import { credentialFaults, type Vendor, verifyCredential } from '#shared/suppliers/vendor.ts'

/** The stored `last_error` of a credential that the vendor refused. Any other value says why there was no verdict. */
export const REFUSED = 'refused'

/** Throws a 422 if the credential cannot be sent to this vendor. */
export function mustBeSendable({ adapter }: Vendor, credential: VendorCredential): void {
  const faults = credentialFaults(adapter, credential)
  if (faults.length > 0) throw invalid(faults.map(toFieldFault))
}

const toFieldFault = ({ field, ...fault }: CredentialFault): FieldFault => ({ pointer: `#/${field}`, ...fault })

/** Verifies a credential with its vendor. Returns null if accepted, else REFUSED or the reason for no verdict. */
export async function askVendor(config: Config, vendor: Vendor, credential: VendorCredential): Promise<string | null> {
  const verdict = await verifyCredential(vendor, credential, { urls: config.vendor.urls })
  if (verdict.outcome === 'accepted') return null
  if (verdict.outcome === 'refused') return REFUSED
  const { reason } = verdict
  log.warn('a vendor gave no verdict on a credential; the account keeps its status', { vendor: vendor.code, reason })
  countMetric('VendorUnreachable', vendor.code)
  return reason
}
