import { escapeXml, parseXml, type XmlElement, XmlError } from '#shared/suppliers/xml.ts'
import type { VendorCredential } from '#shared/suppliers/adapter.ts'

export const SOAP = 'http://schemas.xmlsoap.org/soap/envelope/'
export const PRODUCT_DATA = 'http://www.promostandards.org/WSDL/ProductDataService/2.0.0/'
export const PRICING = 'http://www.promostandards.org/WSDL/PricingAndConfiguration/1.0.0/'

/** An operation of a PromoStandards service, with its fields in the schema's order. */
export interface SoapOperation {
  readonly name: string
  readonly namespace: string
  readonly version: string
  readonly fields: readonly (readonly [name: string, value: string])[]
}

/** Returns the headers and the body of a SOAP 1.1 request. Requires a credential without faults. */
export function soapRequest({ name, namespace, version, fields }: SoapOperation, credential: VendorCredential) {
  const request = `${name.charAt(0).toUpperCase()}${name.slice(1)}Request`
  const all = [
    ['wsVersion', version] as const,
    ['id', credential.accountNumber] as const,
    ['password', credential.secret] as const,
    ...fields,
  ]
  const elements = all.map(([field, value]) => `<s:${field}>${escapeXml(value)}</s:${field}>`).join('')
  return {
    headers: { accept: 'text/xml', 'content-type': 'text/xml; charset=utf-8', soapaction: `"${name}"` },
    body:
      '<?xml version="1.0" encoding="UTF-8"?>' +
      `<soap:Envelope xmlns:soap="${SOAP}" xmlns:p="${namespace}" xmlns:s="${namespace}SharedObjects/"><soap:Body>` +
      `<p:${request}>${elements}</p:${request}></soap:Body></soap:Envelope>`,
  }
}

// ID not found, account not authorised for the service, credentials failed, credentials required.
const REFUSALS: ReadonlySet<string> = new Set(['100', '104', '105', '110'])
// From the example in SOAP 1.1, section 4.4.1, and from WS-Security 1.0, section 12.
const FAULTS_THAT_REFUSE: ReadonlySet<string> = new Set(['Client.Authentication', 'FailedAuthentication'])

/** The content of a SOAP response. `refused`: the vendor refused the credential. `failed`: the response is a SOAP fault. */
export interface SoapContent {
  readonly element: XmlElement | undefined
  readonly refused: boolean
  readonly failed: boolean
  /** The codes of the messages that report errors. */
  readonly errors: readonly string[]
}

/** Returns the content of an envelope. */
export function soapContent(envelope: XmlElement | undefined): SoapContent {
  const isEnvelope = envelope?.namespace === SOAP && envelope.name === 'Envelope'
  const body = isEnvelope
    ? envelope.children.find(({ namespace, name }) => namespace === SOAP && name === 'Body')
    : undefined
  const element = body?.children[0]
  const failed = element?.namespace === SOAP && element.name === 'Fault'
  const messages = element === undefined ? [] : serviceMessages(element)
  const code = failed ? textAt(element, 'faultcode').replace(/^.*:/, '') : ''
  return {
    element,
    failed,
    refused: FAULTS_THAT_REFUSE.has(code) || messages.some((message) => REFUSALS.has(message.code)),
    errors: messages.flatMap((message) => (message.isError ? [message.code] : [])),
  }
}

/** Parses a response, or returns undefined for text that is not well formed. */
export function parsedOrNothing(text: string): XmlElement | undefined {
  try {
    return parseXml(text)
  } catch (error) {
    if (error instanceof XmlError) return undefined
    throw error
  }
}

/** Returns the text of the element at a path of names below, or ''. */
export const textAt = (element: XmlElement | undefined, ...path: readonly string[]): string =>
  path
    .reduce<XmlElement | undefined>((found, wanted) => found?.children.find(({ name }) => name === wanted), element)
    ?.text.trim() ?? ''

/** Returns the children with this name, in any namespace: vendors do not agree on them. */
export const childrenOf = (element: XmlElement | undefined, wanted: string): readonly XmlElement[] =>
  element?.children.filter(({ name }) => name === wanted) ?? []

interface ServiceMessage {
  readonly code: string
  readonly isError: boolean
}

/** Product Data has service messages, Pricing and Configuration an error message. Both are elements of PromoStandards. */
function serviceMessages(element: XmlElement, found: ServiceMessage[] = []): readonly ServiceMessage[] {
  const isMessage = element.name === 'ServiceMessage' || element.name === 'ErrorMessage'
  if (isMessage && [PRODUCT_DATA, PRICING].some((namespace) => element.namespace.startsWith(namespace)))
    found.push({
      code: textAt(element, 'code'),
      isError: !/^(information|warning)$/i.test(textAt(element, 'severity')),
    })
  else for (const child of element.children) serviceMessages(child, found)
  return found
}
