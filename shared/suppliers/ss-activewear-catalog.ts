import * as v from 'valibot'
import type { VendorCredential } from '#shared/suppliers/adapter.ts'
import { agentFor, boundedRequest, VendorUnreachable } from '#shared/outbound/bounded-request.ts'
import { basicCredential, isRefusal, pathOf } from '#shared/suppliers/ss-activewear.ts'
import {
  lineOf,
  priceOf,
  READ_TIMEOUT_MS,
  type VendorCatalog,
  VendorRejected,
  type VendorSku,
  type VendorStyle,
} from '#shared/suppliers/vendor-catalog.ts'

const MAX_BYTES = 16 * 1024 * 1024
const STYLES_PER_PAGE = 20

const Text = v.nullish(v.string())
const Styles = v.array(
  v.object({ styleID: v.string(), brandName: Text, styleName: Text, title: Text, baseCategory: Text }),
)
const StyleIds = v.array(v.object({ styleID: v.string() }))
const Products = v.array(
  v.object({ sku: v.string(), styleID: v.string(), colorName: Text, sizeName: Text, customerPrice: Text }),
)

/**
 * Reads the catalog of S&S Activewear: https://api.ssactivewear.com/V2/Styles.aspx and Products.aspx. `customerPrice` is the price
 * of the account, in US dollars. One page asks for the products of several styles, because the API limits requests.
 */
export function ssActivewearCatalog(url: URL, credential: VendorCredential): VendorCatalog {
  const agent = agentFor(url)
  const get = async <Schema extends v.GenericSchema>(
    path: string,
    schema: Schema,
  ): Promise<v.InferOutput<Schema> | null> => {
    const response = await boundedRequest(pathOf(url, path), {
      method: 'GET',
      headers: { accept: 'application/json', authorization: basicCredential(credential) },
      statuses: [200, 401, 403, 404],
      timeoutMs: READ_TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      agent,
    })
    if (isRefusal(response)) throw new VendorRejected()
    if (response.status === 404) return null
    const parsed = v.safeParse(schema, exactJson(response.body))
    if (response.status !== 200 || !parsed.success) throw new VendorUnreachable('unexpected_response')
    return parsed.output
  }
  return {
    pageSize: STYLES_PER_PAGE,
    close: () => agent.destroy(),
    listProducts: async () => {
      const styles = await get('v2/styles/?fields=StyleID&mediatype=json', StyleIds)
      if (styles === null) throw new VendorUnreachable('unexpected_response')
      return [...new Set(styles.map(({ styleID }) => styleID))]
    },
    readProducts: async (ids) => {
      const list = encodeURIComponent(ids.join())
      const [styles, products] = await Promise.all([
        get(`v2/styles/?styleid=${list}&fields=StyleID,BrandName,StyleName,Title,BaseCategory&mediatype=json`, Styles),
        get(`v2/products/?style=${list}&fields=Sku,StyleID,ColorName,SizeName,CustomerPrice&mediatype=json`, Products),
      ])
      const skus = Map.groupBy(products ?? [], ({ styleID }) => styleID)
      const byId = new Map((styles ?? []).map((style) => [style.styleID, style]))
      return ids.flatMap((id) => {
        const style = byId.get(id)
        const read = style && styleOf(style, (skus.get(id) ?? []).flatMap(skuOf))
        return read ? [read] : []
      })
    },
  }
}

function styleOf(style: v.InferOutput<typeof Styles>[number], skus: readonly VendorSku[]): VendorStyle | null {
  const [styleNumber, brand] = [lineOf(style.styleName, 40), lineOf(style.brandName, 100)]
  if (styleNumber === null || brand === null) return null
  const name = lineOf(style.title, 200) ?? styleNumber
  return { styleNumber, brand, name, category: lineOf(style.baseCategory, 100) ?? 'Other', skus }
}

function skuOf(product: v.InferOutput<typeof Products>[number]): VendorSku[] {
  const sku = lineOf(product.sku, 64)
  if (sku === null) return []
  const { colorName, sizeName, customerPrice } = product
  return [
    { sku, color: lineOf(colorName, 60), size: lineOf(sizeName, 60), price: priceOf(customerPrice), currency: 'USD' },
  ]
}

/** Parses JSON, each number as the text that was sent: a JavaScript number does not hold every price. */
function exactJson(text: string): unknown {
  const exact = (_: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' ? context?.source : value
  try {
    return JSON.parse(text, exact)
  } catch {
    return null
  }
}
