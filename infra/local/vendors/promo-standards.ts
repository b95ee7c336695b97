import type { LocalReply, LocalRequest } from '#infra/local/http-server.ts'

// Product Data 2.0.0. The codes come from the PromoStandards list of service messages.
const NAMESPACE = 'http://www.promostandards.org/WSDL/ProductDataService/2.0.0/'
const OPERATION = 'GetProductDateModified'

/**
 * Serves the SOAP 1.1 operation getProductDateModified. A wrong account gets service message 105 with status 200, as vendors
 * send it. No product ever changes.
 */
export function answerSoap(
  { method, headers, body }: LocalRequest,
  accepts: (id: string, password: string) => boolean,
): LocalReply {
  if (method !== 'POST') return { status: 405, headers: { allow: 'POST' } }
  if (!/^text\/xml\s*(;|$)/i.test(headers['content-type'] ?? '')) return { status: 415 }
  const text = body.toString()
  const [, prefix, request] = /<(?:[\w-]+:)?Body[^>]*>\s*<(?:([\w-]+):)?(\w+)/.exec(text) ?? []
  if (request === undefined) return fault('The body is not a SOAP envelope')
  const namespaced = text.includes(`xmlns${prefix === undefined ? '' : `:${prefix}`}="${NAMESPACE}"`)
  if (request !== `${OPERATION}Request` || !namespaced) return fault(`${request} is not served here`)
  const action = String(headers['soapaction'] ?? '').replaceAll('"', '')
  if (action !== 'getProductDateModified') return fault(`The given SOAPAction ${action} does not match an operation`)
  const [id, password] = [element(text, 'id'), element(text, 'password')]
  if (element(text, 'wsVersion') !== '2.0.0') return serviceMessage(115, 'wsVersion not found')
  if (id === '') return serviceMessage(100, 'ID (customerID) not found')
  if (password === '') return serviceMessage(110, 'Authentication Credentials required')
  if (!accepts(id, password)) return serviceMessage(105, 'Authentication Credentials failed')
  if (Number.isNaN(Date.parse(element(text, 'changeTimeStamp'))))
    return serviceMessage(120, 'The following field(s) are required changeTimeStamp')
  return serviceMessage(160, 'No Results Found', 'Information')
}

const ENTITIES = new Map([
  ['lt', '<'],
  ['gt', '>'],
  ['amp', '&'],
  ['quot', '"'],
  ['apos', "'"],
])

function element(xml: string, name: string): string {
  const text = new RegExp(`<(?:[\\w-]+:)?${name}(?:\\s[^>]*)?>([^<]*)<`).exec(xml)?.[1] ?? ''
  return text.trim().replaceAll(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex, decimal, entity) => {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    if (entity !== undefined) return ENTITIES.get(entity) ?? whole
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}

const serviceMessage = (code: number, description: string, severity = 'Error'): LocalReply =>
  soap(
    200,
    `<${OPERATION}Response xmlns="${NAMESPACE}" xmlns:s="${NAMESPACE}SharedObjects/"><s:ServiceMessageArray>` +
      `<s:ServiceMessage><s:code>${code}</s:code><s:description>${description}</s:description>` +
      `<s:severity>${severity}</s:severity></s:ServiceMessage></s:ServiceMessageArray></${OPERATION}Response>`,
  )

const soap = (status: number, content: string): LocalReply => ({
  status,
  headers: { 'content-type': 'text/xml; charset=utf-8' },
  body:
    '<?xml version="1.0" encoding="UTF-8"?>' +
    `<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>${content}</soap:Body></soap:Envelope>`,
})

const fault = (reason: string): LocalReply =>
  soap(500, `<soap:Fault><faultcode>soap:Client</faultcode><faultstring>${reason}</faultstring></soap:Fault>`)
