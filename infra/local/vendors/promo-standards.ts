import type { LocalReply, LocalRequest } from '#infra/local/http-server.ts'
import { escapeXml } from '#shared/suppliers/xml.ts'
import type { LocalProduct, LocalSku } from './products.ts'

const PRODUCT_DATA = 'http://www.promostandards.org/WSDL/ProductDataService/2.0.0/'
const PRICING = 'http://www.promostandards.org/WSDL/PricingAndConfiguration/1.0.0/'

interface Operation {
  readonly namespace: string
  readonly version: string
  readonly required: readonly string[]
  readonly respond: (field: (name: string) => string, products: readonly LocalProduct[]) => string | Message
}

/** A service message. The codes come from the PromoStandards list. */
interface Message {
  readonly code: number
  readonly description: string
  readonly severity?: 'Information'
}

const LOCALIZATION = ['localizationCountry', 'localizationLanguage']

/** The operations by the name of their SOAPAction. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  getProductDateModified: {
    namespace: PRODUCT_DATA,
    version: '2.0.0',
    required: ['changeTimeStamp'],
    respond: (field) =>
      Number.isNaN(Date.parse(field('changeTimeStamp')))
        ? { code: 120, description: 'The following field(s) are required changeTimeStamp' }
        : { code: 160, description: 'No Results Found', severity: 'Information' },
  },
  getProductSellable: {
    namespace: PRODUCT_DATA,
    version: '2.0.0',
    required: [...LOCALIZATION, 'isSellable'],
    respond: (_, products) => {
      const sellable = products.flatMap(({ style, skus }) =>
        skus.map(({ sku }) => tag('ProductSellable', shared('productId', style.style_number) + shared('partId', sku))),
      )
      return tag('ProductSellableArray', sellable.join(''))
    },
  },
  getProduct: {
    namespace: PRODUCT_DATA,
    version: '2.0.0',
    required: [...LOCALIZATION, 'productId'],
    respond: (field, products) => {
      const product = productWith(field('productId'), products)
      return product === undefined ? NO_PRODUCT : productOf(product)
    },
  },
  getConfigurationAndPricing: {
    namespace: PRICING,
    version: '1.0.0',
    required: ['productId', 'currency', 'fobId', 'priceType', ...LOCALIZATION, 'configurationType'],
    respond: (field, products) => {
      const product = productWith(field('productId'), products)
      return product === undefined ? NO_PRODUCT : configurationOf(product, field)
    },
  },
}

const productWith = (id: string, products: readonly LocalProduct[]): LocalProduct | undefined =>
  products.find(({ style }) => style.style_number === id)

const NO_PRODUCT: Message = { code: 130, description: 'Product Id not found' }

/** Serves SOAP 1.1. A wrong account gets service message 105 with status 200, as vendors send it. No product ever changes. */
export function answerSoap(
  { method, headers, body }: LocalRequest,
  products: readonly LocalProduct[],
  accepts: (id: string, password: string) => boolean,
): LocalReply {
  if (method !== 'POST') return { status: 405, headers: { allow: 'POST' } }
  if (!/^text\/xml\s*(;|$)/i.test(headers['content-type'] ?? '')) return { status: 415 }
  const text = body.toString()
  const [, prefix, request = ''] = /<(?:[\w-]+:)?Body[^>]*>\s*<(?:([\w-]+):)?(\w+)/.exec(text) ?? []
  if (request === '') return fault('The body is not a SOAP envelope')
  const action = String(headers['soapaction'] ?? '').replaceAll('"', '')
  const operation = OPERATIONS[request.charAt(0).toLowerCase() + request.slice(1).replace(/Request$/, '')]
  const namespaced = text.includes(`xmlns${prefix === undefined ? '' : `:${prefix}`}="${operation?.namespace}"`)
  if (operation === undefined || !namespaced) return fault(`${request} is not served here`)
  if (`${action.charAt(0).toUpperCase()}${action.slice(1)}Request` !== request)
    return fault(`The given SOAPAction ${action} does not match an operation`)
  const field = (name: string) => element(text, name)
  const message = refusalOf(operation, field, accepts)
  const content = message ?? operation.respond(field, products)
  const { namespace } = operation
  const inner = typeof content === 'string' ? content : messageOf(operation, content)
  const name = request.replace(/Request$/, 'Response')
  return soap(200, `<${name} xmlns="${namespace}" xmlns:s="${namespace}SharedObjects/">${inner}</${name}>`)
}

function refusalOf(
  { version, required }: Operation,
  field: (name: string) => string,
  accepts: (id: string, password: string) => boolean,
): Message | undefined {
  const [id, password] = [field('id'), field('password')]
  if (field('wsVersion') !== version) return { code: 115, description: 'wsVersion not found' }
  if (id === '') return { code: 100, description: 'ID (customerID) not found' }
  if (password === '') return { code: 110, description: 'Authentication Credentials required' }
  if (!accepts(id, password)) return { code: 105, description: 'Authentication Credentials failed' }
  const missing = required.filter((name) => field(name) === '')
  return missing.length === 0
    ? undefined
    : { code: 120, description: `The following field(s) are required ${missing.join(', ')}` }
}

function productOf({ style, skus }: LocalProduct): string {
  const parts = skus.map(({ sku, color, size }) =>
    tag(
      'ProductPart',
      shared('partId', sku) +
        (color === null ? '' : tag('ColorArray', tag('Color', shared('colorName', color)))) +
        tag('ApparelSize', shared('apparelStyle', 'Unisex') + labelOf(size)),
    ),
  )
  return tag(
    'Product',
    shared('productId', style.style_number) +
      shared('productName', style.name) +
      shared('description', style.name) +
      shared('productBrand', style.brand) +
      tag('ProductCategoryArray', tag('ProductCategory', shared('category', style.category))) +
      tag('ProductPartArray', parts.join('')),
  )
}

/** The standard lists label sizes. Any other text is a custom size. */
const labelOf = (size: string): string =>
  /^\d+x\d+$|-/i.test(size) && !/large|small/i.test(size)
    ? shared('labelSize', 'CUSTOM') + shared('customSize', size)
    : shared('labelSize', size)

function configurationOf({ style, skus }: LocalProduct, field: (name: string) => string): string {
  const priced = skus.filter(({ price }) => price !== null)
  const parts = priced.map((sku) => tag('Part', shared('partId', sku.sku) + tag('PartPriceArray', pricesOf(sku))))
  return tag(
    'Configuration',
    tag('PartArray', parts.join('')) +
      shared('productId', style.style_number) +
      shared('currency', field('currency')) +
      shared('priceType', field('priceType')),
  )
}

/** A price for each piece, and after it one for a case, which is no price of a piece. */
const pricesOf = ({ price }: LocalSku): string =>
  [
    ['72', '0.01', 'CA'],
    ['1', price ?? '', 'EA'],
  ]
    .map(([minQuantity = '', amount = '', uom = '']) =>
      tag('PartPrice', shared('minQuantity', minQuantity) + shared('price', amount) + shared('priceUom', uom)),
    )
    .join('')

const tag = (name: string, content: string): string => `<${name}>${content}</${name}>`
const shared = (name: string, text: string): string => `<s:${name}>${escapeXml(text)}</s:${name}>`

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

/** Product Data has a list of service messages, Pricing and Configuration one error message. */
const messageOf = ({ namespace }: Operation, { code, description, severity }: Message): string =>
  namespace === PRICING
    ? tag('ErrorMessage', shared('code', String(code)) + shared('description', description))
    : `<s:ServiceMessageArray><s:ServiceMessage><s:code>${code}</s:code><s:description>${description}</s:description>` +
      `<s:severity>${severity ?? 'Error'}</s:severity></s:ServiceMessage></s:ServiceMessageArray>`

const soap = (status: number, content: string): LocalReply => ({
  status,
  headers: { 'content-type': 'text/xml; charset=utf-8' },
  body:
    '<?xml version="1.0" encoding="UTF-8"?>' +
    `<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>${content}</soap:Body></soap:Envelope>`,
})

const fault = (reason: string): LocalReply =>
  soap(500, `<soap:Fault><faultcode>soap:Client</faultcode><faultstring>${reason}</faultstring></soap:Fault>`)
