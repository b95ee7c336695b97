import { createHash, timingSafeEqual } from 'node:crypto'
import type { Faults } from '#infra/local/faults.ts'
import { type HttpServer, json, type LocalReply, startHttpServer } from '#infra/local/http-server.ts'
import { type LocalProduct, localProducts, type LocalVendor } from './products.ts'
import { answerSoap } from './promo-standards.ts'
import { answerRest } from './ss-activewear.ts'

export interface VendorAccount {
  readonly code: 'ss-activewear' | 'sanmar'
  readonly account_number: string
  readonly secret: string
}

const SS_ACTIVEWEAR: VendorAccount = {
  code: 'ss-activewear',
  account_number: '51234',
  secret: '7d1f0c52-local-4b8e-9c55-ss-activewear',
}
const SANMAR: VendorAccount = { code: 'sanmar', account_number: '284719', secret: 'local sanmar & sons 42' }

/** The one account that each local vendor accepts. */
export const vendorAccounts: readonly VendorAccount[] = [SS_ACTIVEWEAR, SANMAR]

const PRODUCTS = 320

export interface Vendors extends HttpServer {
  /** The URLs of VENDOR_URLS. */
  readonly urls: Readonly<Record<VendorAccount['code'] | 'sanmar-pricing', string>>
}

/**
 * Serves two vendors at one address: a REST API like S&S Activewear's and the PromoStandards SOAP services of a supplier. `listed`
 * returns a product as the vendor lists it at a request, or null for one that it lists no more.
 */
export async function startVendors(
  options: {
    readonly faults?: Faults
    readonly port?: number
    readonly products?: number
    readonly listed?: (product: LocalProduct, vendor: LocalVendor) => LocalProduct | null
  } = {},
): Promise<Vendors> {
  const { faults, port, products = PRODUCTS, listed } = options
  const catalogs = {
    'ss-activewear': localProducts('ss-activewear', products),
    sanmar: localProducts('sanmar', products),
  }
  const catalog = (vendor: LocalVendor): readonly LocalProduct[] =>
    listed === undefined ? catalogs[vendor] : catalogs[vendor].flatMap((product) => listed(product, vendor) ?? [])
  const server = await startHttpServer({
    port,
    meet: faults && (() => faults.meet('vendor')),
    answer: (request) => {
      const path = request.url.pathname.replace(/\/$/, '').toLowerCase()
      const isGarbled = faults?.draw('vendor') === 'garble'
      const answer = () => {
        if (path === '/v2/styles' || path === '/v2/products')
          return answerRest(request, catalog('ss-activewear'), (number, secret) =>
            accepts(SS_ACTIVEWEAR, number, secret),
          )
        if (path === '/promostandards/productdata' || path === '/promostandards/pricing')
          return answerSoap(request, catalog('sanmar'), (id, password) => accepts(SANMAR, id, password))
        return json(404, { message: `No HTTP resource was found that matches ${request.url.pathname}.` })
      }
      return isGarbled ? garbled(answer()) : answer()
    },
  })
  return {
    ...server,
    urls: {
      'ss-activewear': server.url,
      sanmar: `${server.url}/promostandards/productdata`,
      'sanmar-pricing': `${server.url}/promostandards/pricing`,
    },
  }
}

/** Cuts a response in half. */
const garbled = (reply: LocalReply): LocalReply => ({
  ...reply,
  body: String(reply.body ?? '').slice(0, Math.floor(String(reply.body ?? '').length / 2)),
})

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

const accepts = (account: VendorAccount, number: string, secret: string): boolean =>
  timingSafeEqual(digest(`${account.account_number}\n${account.secret}`), digest(`${number}\n${secret}`))
