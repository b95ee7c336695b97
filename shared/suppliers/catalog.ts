import type { VendorUrls } from '#shared/schema/vendor-urls.ts'
import type { VendorCredential } from '#shared/suppliers/adapter.ts'
import { VendorUnreachable } from '#shared/outbound/bounded-request.ts'
import { promoStandardsCatalog } from '#shared/suppliers/promo-standards-catalog.ts'
import { ssActivewearCatalog } from '#shared/suppliers/ss-activewear-catalog.ts'
import type { VendorCatalog } from '#shared/suppliers/vendor-catalog.ts'
import type { Vendor } from '#shared/suppliers/vendor.ts'

/** Returns the catalog of a vendor, as this credential sees it. Calls no vendor. Throws VendorUnreachable if the stage has no URL for it. */
export function openCatalog(vendor: Vendor, credential: VendorCredential, urls: VendorUrls): VendorCatalog {
  const urlOf = (code: string): URL => {
    const url = urls.get(code)
    if (url === undefined) throw new VendorUnreachable('not_configured')
    return url
  }
  const url = urlOf(vendor.code)
  if (vendor.adapter === 'ss-activewear') return ssActivewearCatalog(url, credential)
  return promoStandardsCatalog({ products: url, pricing: urlOf(`${vendor.code}-pricing`) }, credential, vendor.name)
}
