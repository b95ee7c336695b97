import { textFaults, type VendorAdapter, type VendorCredential } from '#shared/suppliers/adapter.ts'
import { type BoundedResponse, boundedRequest, VendorUnreachable } from '#shared/outbound/bounded-request.ts'
import { parsedOrNothing, PRODUCT_DATA, soapContent, soapRequest } from '#shared/suppliers/soap.ts'

const NO_RESULTS = '160'
const LOOK_BACK_MS = 60_000

/**
 * Verifies a credential with a supplier's PromoStandards Product Data 2.0.0 service. The URL is the service's endpoint
 * (SanMar: https://ws.sanmar.com:8080/promostandards/ProductDataServiceBindingV2, Web Services Integration Guide 24.2).
 * `id` is the account number and `password` the secret. The request asks for the products changed in the last minute:
 * that response is short for every supplier, and the request needs no product id.
 *
 * A refusal is one of the service messages 100, 104, 105 and 110 (core codes of https://promostandards.org, listed at
 * https://docs.psrestful.com/standards/standardized-codes) or a SOAP fault with an authentication code. Any other
 * error, such as 115 and 999, is a failure of the vendor. Both fields are XML Schema tokens, so a vendor that follows
 * the schema collapses runs of spaces and trims them at both ends.
 */
export const promoStandards: VendorAdapter = {
  faults: textFaults,
  verify: async (url, credential, timeoutMs) => {
    const response = await boundedRequest(url, {
      method: 'POST',
      ...dateModifiedRequest(credential, new Date(Date.now() - LOOK_BACK_MS)),
      // SOAP 1.1 sends a fault with status 500. A service message may come with 401 or 403.
      statuses: [200, 401, 403, 500],
      timeoutMs,
    })
    return verdict(response)
  },
}

/** Returns the SOAP 1.1 request, with its elements in the schema's order. Requires a credential without faults. */
export const dateModifiedRequest = (credential: VendorCredential, since: Date) =>
  soapRequest(
    {
      name: 'getProductDateModified',
      namespace: PRODUCT_DATA,
      version: '2.0.0',
      fields: [['changeTimeStamp', since.toISOString().replace(/\.\d+Z$/, 'Z')]],
    },
    credential,
  )

function verdict({ status, body }: BoundedResponse): 'accepted' | 'refused' {
  const { element, refused, failed, errors } = soapContent(parsedOrNothing(body))
  if (refused) return 'refused'
  if (failed || status === 500) throw new VendorUnreachable('vendor_error')
  if (status !== 200 || element?.namespace !== PRODUCT_DATA || element.name !== 'GetProductDateModifiedResponse')
    throw new VendorUnreachable('unexpected_response')
  if (errors.some((code) => code !== NO_RESULTS)) throw new VendorUnreachable('vendor_error')
  return 'accepted'
}
