import { createHash, timingSafeEqual } from 'node:crypto'
import type { Faults } from '#infra/local/faults.ts'
import { type HttpServer, json, type LocalReply, type LocalRequest, startHttpServer } from '#infra/local/http-server.ts'
import { answerSoap } from './promo-standards.ts'

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

export interface Vendors extends HttpServer {
  /** The URL of each vendor: the base of the REST paths `/v2/...`, and the SOAP endpoint. */
  readonly urls: Readonly<Record<VendorAccount['code'], string>>
}

// The shape of https://api.ssactivewear.com/V2/Styles.aspx, reduced to the fields that name a style.
const STYLES = [
  ['39', 'B00060', 'Gildan', '2000', 'Ultra Cotton T-Shirt', 'T-Shirts'],
  ['71', 'B15453', 'Gildan', '18500', 'Heavy Blend Hooded Sweatshirt', 'Fleece'],
  ['2570', 'B08253', 'BELLA + CANVAS', '3001', 'Jersey Tee', 'T-Shirts'],
  ['8711', 'B12260', 'Next Level', '3600', 'Cotton T-Shirt', 'T-Shirts'],
].map(([styleID, partNumber, brandName, styleName, title, baseCategory]) => ({
  styleID: Number(styleID),
  partNumber,
  brandName,
  styleName,
  title,
  description: `<ul><li>${title}</li></ul>`,
  baseCategory,
  newStyle: false,
}))

/** Serves two vendors at one address: a REST API like S&S Activewear's and a PromoStandards SOAP service. */
export async function startVendors(
  options: { readonly faults?: Faults; readonly port?: number } = {},
): Promise<Vendors> {
  const { faults, port } = options
  const server = await startHttpServer({
    port,
    meet: faults && (() => faults.meet('vendor')),
    answer: (request) => {
      const path = request.url.pathname.replace(/\/$/, '').toLowerCase()
      if (path === '/v2/styles') return answerStyles(request)
      if (path === '/promostandards/productdata')
        return answerSoap(request, (id, password) => accepts(SANMAR, id, password))
      return json(404, { message: `No HTTP resource was found that matches ${request.url.pathname}.` })
    },
  })
  return { ...server, urls: { 'ss-activewear': server.url, sanmar: `${server.url}/promostandards/productdata` } }
}

function answerStyles({ method, url, headers }: LocalRequest): LocalReply {
  if (method !== 'GET') return json(405, { message: `The requested resource does not support ${method}.` })
  const [scheme = '', credentials = ''] = (headers.authorization ?? '').split(' ')
  const [, number = '', secret = ''] = /^([^:]*):(.*)$/s.exec(Buffer.from(credentials, 'base64').toString()) ?? []
  if (scheme.toLowerCase() !== 'basic' || !accepts(SS_ACTIVEWEAR, number, secret)) {
    const challenge = { 'www-authenticate': 'Basic realm="S&S Activewear"' }
    return json(401, { message: 'Authorization has been denied for this request.' }, challenge)
  }
  const listed = (name: string) => url.searchParams.get(name)?.split(',')
  const [names, ids, fields] = [listed('style'), listed('styleid'), listed('fields')]
  const found = STYLES.filter(
    ({ styleName = '', styleID }) => (names?.includes(styleName) ?? true) && (ids?.includes(String(styleID)) ?? true),
  )
  return json(200, fields ? found.map((style) => picked(style, fields)) : found)
}

function picked(style: object, fields: readonly string[]): object {
  const wanted = new Set(fields.map((field) => field.toLowerCase()))
  return Object.fromEntries(Object.entries(style).filter(([name]) => wanted.has(name.toLowerCase())))
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

const accepts = (account: VendorAccount, number: string, secret: string): boolean =>
  timingSafeEqual(digest(`${account.account_number}\n${account.secret}`), digest(`${number}\n${secret}`))
