import type { LocalReply, LocalRequest } from '#infra/local/http-server.ts'

// Product Data 2.0.0; the codes are those of the PromoStandards list of service messages.
const NAMESPACE = 'http://www.promostandards.org/WSDL/ProductDataService/2.0.0/'
const SHARED = `${NAMESPACE}SharedObjects/`

const SELLABLE = [
  ['PC61', '175762'],
  ['PC61', '175763'],
  ['K500', '64871'],
  ['ST350', '120345'],
]

const OPERATIONS: Readonly<Record<string, (text: string) => string>> = {
  GetProductSellable: (text) => sellable(element(text, 'productId')),
  // Nothing of the few products here ever changes.
  GetProductDateModified: (text) =>
    Number.isNaN(Date.parse(element(text, 'changeTimeStamp')))
      ? serviceMessage(120, 'The following field(s) are required changeTimeStamp')
      : serviceMessage(160, 'No Results Found', 'Information'),
}

/**
 * Answers the SOAP 1.1 operations getProductSellable and getProductDateModified. A wrong account gets service message 105,
 * as a vendor says it: with 200.
 */
export function answerSoap(
  { method, headers, body }: LocalRequest,
  accepts: (id: string, password: string) => boolean,
): LocalReply {
  if (method !== 'POST') return { status: 405, headers: { allow: 'POST' } }
  if (!/^text\/xml\s*(;|$)/i.test(headers['content-type'] ?? '')) return { status: 415 }
  const text = body.toString()
  const [, prefix, request = ''] = /<(?:[\w-]+:)?Body[^>]*>\s*<(?:([\w-]+):)?(\w+)/.exec(text) ?? []
  if (request === '') return fault('The body is not a SOAP envelope')
  const operation = request.replace(/Request$/, '')
  const answer = OPERATIONS[operation]
  if (answer === undefined || !text.includes(`xmlns${prefix === undefined ? '' : `:${prefix}`}="${NAMESPACE}"`))
    return fault(`${request} is not served here`)
  const action = String(headers['soapaction'] ?? '').replaceAll('"', '')
  if (action !== operation.replace(/^G/, 'g'))
    return fault(`The given SOAPAction ${action} does not match an operation`)
  const say = (content: string) => envelope(operation, content)
  const [id, password] = [element(text, 'id'), element(text, 'password')]
  if (element(text, 'wsVersion') !== '2.0.0') return say(serviceMessage(115, 'wsVersion not found'))
  if (id === '') return say(serviceMessage(100, 'ID (customerID) not found'))
  if (password === '') return say(serviceMessage(110, 'Authentication Credentials required'))
  if (!accepts(id, password)) return say(serviceMessage(105, 'Authentication Credentials failed'))
  return say(answer(text))
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

function sellable(productId: string): string {
  const found = SELLABLE.filter(([product]) => productId === '' || product === productId)
  if (found.length === 0) return serviceMessage(130, 'Product Id not found')
  const items = found.map(
    ([product, part]) =>
      `<ProductSellable><s:productId>${product}</s:productId><s:partId>${part}</s:partId></ProductSellable>`,
  )
  return `<ProductSellableArray>${items.join('')}</ProductSellableArray>`
}

const serviceMessage = (code: number, description: string, severity = 'Error'): string =>
  `<s:ServiceMessageArray><s:ServiceMessage><s:code>${code}</s:code><s:description>${description}</s:description>` +
  `<s:severity>${severity}</s:severity></s:ServiceMessage></s:ServiceMessageArray>`

const soap = (status: number, content: string): LocalReply => ({
  status,
  headers: { 'content-type': 'text/xml; charset=utf-8' },
  body:
    '<?xml version="1.0" encoding="UTF-8"?>' +
    `<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>${content}</soap:Body></soap:Envelope>`,
})

const envelope = (operation: string, content: string): LocalReply =>
  soap(200, `<${operation}Response xmlns="${NAMESPACE}" xmlns:s="${SHARED}">${content}</${operation}Response>`)

const fault = (reason: string): LocalReply =>
  soap(500, `<soap:Fault><faultcode>soap:Client</faultcode><faultstring>${reason}</faultstring></soap:Fault>`)
