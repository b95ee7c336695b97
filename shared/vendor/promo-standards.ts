import { textFaults, type VendorAdapter, type VendorCredential } from '#shared/vendor/adapter.ts'
import { type BoundedResponse, boundedRequest, VendorUnreachable } from '#shared/vendor/bounded-request.ts'
import { escapeXml, parseXml, type XmlElement } from '#shared/vendor/xml.ts'

const SOAP = 'http://schemas.xmlsoap.org/soap/envelope/'
const PRODUCT_DATA = 'http://www.promostandards.org/WSDL/ProductDataService/2.0.0/'
const SHARED_OBJECTS = `${PRODUCT_DATA}SharedObjects/`

// ID not found, account not authorised for the service, credentials failed, credentials required.
const REFUSALS: ReadonlySet<string> = new Set(['100', '104', '105', '110'])
const NO_RESULTS = '160'
// From the example in SOAP 1.1, section 4.4.1, and from WS-Security 1.0, section 12.
const FAULTS_THAT_REFUSE: ReadonlySet<string> = new Set(['Client.Authentication', 'FailedAuthentication'])

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
      headers: {
        accept: 'text/xml',
        'content-type': 'text/xml; charset=utf-8',
        soapaction: '"getProductDateModified"',
      },
      body: dateModifiedRequest(credential, new Date(Date.now() - LOOK_BACK_MS)),
      // SOAP 1.1 sends a fault with status 500. A service message may come with 401 or 403.
      statuses: [200, 401, 403, 500],
      timeoutMs,
    })
    return verdict(response)
  },
}

/** Returns the SOAP 1.1 request, with its elements in the schema's order. Requires a credential without faults. */
export function dateModifiedRequest({ accountNumber, secret }: VendorCredential, since: Date): string {
  const fields = [
    ['wsVersion', '2.0.0'],
    ['id', accountNumber],
    ['password', secret],
    ['changeTimeStamp', since.toISOString().replace(/\.\d+Z$/, 'Z')],
  ] as const
  const elements = fields.map(([name, value]) => `<s:${name}>${escapeXml(value)}</s:${name}>`).join('')
  return (
    '<?xml version="1.0" encoding="UTF-8"?>' +
    `<soap:Envelope xmlns:soap="${SOAP}" xmlns:p="${PRODUCT_DATA}" xmlns:s="${SHARED_OBJECTS}"><soap:Body>` +
    `<p:GetProductDateModifiedRequest>${elements}</p:GetProductDateModifiedRequest></soap:Body></soap:Envelope>`
  )
}

function verdict({ status, body }: BoundedResponse): 'accepted' | 'refused' {
  const content = bodyOf(body)?.children[0]
  const messages = content === undefined ? [] : serviceMessages(content)
  if (messages.some(({ code }) => REFUSALS.has(code))) return 'refused'
  if (content?.namespace === SOAP && content.name === 'Fault') {
    const code = content.children.find(({ name }) => name === 'faultcode')?.text.trim() ?? ''
    if (FAULTS_THAT_REFUSE.has(code.replace(/^.*:/, ''))) return 'refused'
    throw new VendorUnreachable('vendor_error')
  }
  if (status === 500) throw new VendorUnreachable('vendor_error')
  if (status !== 200 || content?.namespace !== PRODUCT_DATA || content.name !== 'GetProductDateModifiedResponse')
    throw new VendorUnreachable('unexpected_response')
  if (messages.some(({ code, isError }) => isError && code !== NO_RESULTS)) throw new VendorUnreachable('vendor_error')
  return 'accepted'
}

function bodyOf(text: string): XmlElement | undefined {
  try {
    const envelope = parseXml(text)
    if (envelope.namespace !== SOAP || envelope.name !== 'Envelope') return undefined
    return envelope.children.find(({ namespace, name }) => namespace === SOAP && name === 'Body')
  } catch {
    return undefined
  }
}

function serviceMessages(element: XmlElement): readonly { readonly code: string; readonly isError: boolean }[] {
  const isProductData = element.namespace === SHARED_OBJECTS || element.namespace === PRODUCT_DATA
  if (!isProductData || element.name !== 'ServiceMessage') return element.children.flatMap(serviceMessages)
  const field = (wanted: string) => element.children.find(({ name }) => name === wanted)?.text.trim() ?? ''
  return [{ code: field('code'), isError: !/^(information|warning)$/i.test(field('severity')) }]
}
