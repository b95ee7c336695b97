import type { Money } from '#shared/schema/money.ts'
import type { VendorCredential } from '#shared/suppliers/adapter.ts'
import { agentFor, boundedRequest, VendorUnreachable } from '#shared/outbound/bounded-request.ts'
import {
  childrenOf,
  parsedOrNothing,
  PRICING,
  PRODUCT_DATA,
  soapContent,
  type SoapContent,
  type SoapOperation,
  soapRequest,
  textAt,
} from '#shared/suppliers/soap.ts'
import {
  lineOf,
  priceOf,
  READ_TIMEOUT_MS,
  type VendorCatalog,
  VendorRejected,
  type VendorStyle,
} from '#shared/suppliers/vendor-catalog.ts'
import { type XmlElement, XmlError, xmlParser } from '#shared/suppliers/xml.ts'

const MAX_BYTES = 8 * 1024 * 1024
// A list names each SKU. It is parsed as it arrives, and only the ids of products are kept.
const MAX_LIST_BYTES = 128 * 1024 * 1024
const PRODUCTS_PER_PAGE = 20
const CONCURRENCY = 5

const CURRENCY = 'USD'
const LOCALIZATION = [
  ['localizationCountry', 'US'],
  ['localizationLanguage', 'en'],
] as const
// Product id not found, part id not found, no results, data not available.
const NOT_FOUND: ReadonlySet<string> = new Set(['130', '140', '160', '300', '400'])

/**
 * Reads the catalog of a supplier's PromoStandards services: Product Data 2.0.0 (getProductSellable, getProduct) and Pricing and
 * Configuration 1.0.0 (getConfigurationAndPricing, with the customer's prices of blank goods). They are described at
 * https://docs.psrestful.com/standards and in SanMar's Web Services Integration Guide 24.2. Each product needs two requests.
 */
export function promoStandardsCatalog(
  urls: { readonly products: URL; readonly pricing: URL },
  credential: VendorCredential,
  vendorName: string,
): VendorCatalog {
  const agents = new Map([urls.products, urls.pricing].map((url) => [url, agentFor(url)]))
  const send = (url: URL, operation: SoapOperation, options: { maxBytes: number; onText?: (part: string) => void }) =>
    boundedRequest(url, {
      method: 'POST',
      ...soapRequest(operation, credential),
      statuses: [200, 401, 403, 500],
      timeoutMs: READ_TIMEOUT_MS,
      agent: agents.get(url),
      ...options,
    })
  /** Returns the content of a response, or null if the product does not exist. */
  const call = async (url: URL, operation: SoapOperation): Promise<XmlElement | null> => {
    const { status, body } = await send(url, operation, { maxBytes: MAX_BYTES })
    return contentOf(status, soapContent(parsedOrNothing(body)), operation)
  }

  const readProduct = async (productId: string): Promise<VendorStyle | null> => {
    const [found, priced] = await Promise.all([
      call(urls.products, { ...productData('getProduct'), fields: [...LOCALIZATION, ['productId', productId]] }),
      call(urls.pricing, {
        name: 'getConfigurationAndPricing',
        namespace: PRICING,
        version: '1.0.0',
        fields: [
          ['productId', productId],
          ['currency', CURRENCY],
          ['fobId', '1'],
          ['priceType', 'Customer'],
          ...LOCALIZATION,
          ['configurationType', 'Blank'],
        ],
      }),
    ])
    const [product] = childrenOf(found ?? undefined, 'Product')
    const [configuration] = childrenOf(priced ?? undefined, 'Configuration')
    return product === undefined ? null : styleOf(product, configuration, { productId, vendorName })
  }

  return {
    pageSize: PRODUCTS_PER_PAGE,
    close: () => agents.forEach((agent) => agent.destroy()),
    listProducts: async () => {
      const ids = new Set<string>()
      const parser = xmlParser((element) => {
        if (element.name !== 'ProductSellable') return false
        const id = textAt(element, 'productId')
        if (id !== '') ids.add(id)
        return true
      })
      let isWellFormed = true
      const whileWellFormed = <T>(work: () => T): T | undefined => {
        try {
          return isWellFormed ? work() : undefined
        } catch (error) {
          if (!(error instanceof XmlError)) throw error
          isWellFormed = false
          return undefined
        }
      }
      const operation = {
        ...productData('getProductSellable'),
        fields: [...LOCALIZATION, ['isSellable', 'true'] as const],
      }
      const { status } = await send(urls.products, operation, {
        maxBytes: MAX_LIST_BYTES,
        onText: (part) => whileWellFormed(() => parser.write(part)),
      })
      contentOf(status, soapContent(whileWellFormed(() => parser.end())), operation)
      return [...ids]
    },
    readProducts: async (ids) => {
      const styles = new Map<string, VendorStyle | null>()
      const waiting = [...ids]
      const work = async () => {
        for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) styles.set(id, await readProduct(id))
      }
      await Promise.all(Array.from({ length: CONCURRENCY }, work))
      return ids.flatMap((id) => styles.get(id) ?? [])
    },
  }
}

const productData = (name: string) => ({ name, namespace: PRODUCT_DATA, version: '2.0.0' })

/** Returns the element of the response, or null if there is none such product. Throws VendorRejected or VendorUnreachable. */
function contentOf(status: number, content: SoapContent, { name, namespace }: SoapOperation): XmlElement | null {
  const { element, refused, failed, errors } = content
  if (refused) throw new VendorRejected()
  if (failed || status === 500) throw new VendorUnreachable('vendor_error')
  if (
    status !== 200 ||
    element?.namespace !== namespace ||
    element.name.toLowerCase() !== `${name}response`.toLowerCase()
  )
    throw new VendorUnreachable('unexpected_response')
  if (errors.some((code) => !NOT_FOUND.has(code))) throw new VendorUnreachable('vendor_error')
  return errors.length > 0 ? null : element
}

function styleOf(
  product: XmlElement,
  configuration: XmlElement | undefined,
  { productId, vendorName }: { productId: string; vendorName: string },
): VendorStyle | null {
  const styleNumber = lineOf(productId, 40)
  if (styleNumber === null) return null
  const prices = pricesOf(configuration)
  const currency = textAt(configuration, 'currency') || CURRENCY
  const [categories] = childrenOf(product, 'ProductCategoryArray')
  const parts = childrenOf(product, 'ProductPartArray').flatMap((list) => childrenOf(list, 'ProductPart'))
  return {
    styleNumber,
    name: lineOf(textAt(product, 'productName'), 200) ?? styleNumber,
    brand: lineOf(textAt(product, 'productBrand'), 100) ?? vendorName,
    category: lineOf(textAt(categories, 'ProductCategory', 'category'), 100) ?? 'Other',
    skus: parts.flatMap((part) => {
      const sku = lineOf(textAt(part, 'partId'), 64)
      const color =
        textAt(part, 'primaryColor', 'Color', 'colorName') || textAt(part, 'ColorArray', 'Color', 'colorName')
      const price = prices.get(textAt(part, 'partId')) ?? null
      return sku === null ? [] : [{ sku, color: lineOf(color, 60), size: lineOf(sizeOf(part), 60), price, currency }]
    }),
  }
}

/** A label that the standard does not list is CUSTOM, with the vendor's own text. */
function sizeOf(part: XmlElement): string {
  const label = textAt(part, 'ApparelSize', 'labelSize')
  return label === 'CUSTOM' ? textAt(part, 'ApparelSize', 'customSize') || label : label
}

/** Returns the price of each part for the smallest quantity. */
function pricesOf(configuration: XmlElement | undefined): ReadonlyMap<string, Money> {
  const prices = new Map<string, Money>()
  for (const part of childrenOf(configuration, 'PartArray').flatMap((list) => childrenOf(list, 'Part'))) {
    const [first] = childrenOf(part, 'PartPriceArray')
      .flatMap((list) => childrenOf(list, 'PartPrice'))
      .toSorted((a, b) => Number(textAt(a, 'minQuantity')) - Number(textAt(b, 'minQuantity')))
    const price = priceOf(textAt(first, 'price'))
    if (price !== null) prices.set(textAt(part, 'partId'), price)
  }
  return prices
}
