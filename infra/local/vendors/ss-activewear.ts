import { json, type LocalReply, type LocalRequest } from '#infra/local/http-server.ts'
import type { LocalProduct } from './products.ts'

/** Serves `/v2/styles` and `/v2/products` in the shape of https://api.ssactivewear.com/V2, with the fields that we read. */
export function answerRest(
  { method, url, headers }: LocalRequest,
  products: readonly LocalProduct[],
  accepts: (number: string, secret: string) => boolean,
): LocalReply {
  if (method !== 'GET') return json(405, { message: `The requested resource does not support ${method}.` })
  const [scheme = '', credentials = ''] = (headers.authorization ?? '').split(' ')
  const [, number = '', secret = ''] = /^([^:]*):(.*)$/s.exec(Buffer.from(credentials, 'base64').toString()) ?? []
  if (scheme.toLowerCase() !== 'basic' || !accepts(number, secret)) {
    const challenge = { 'www-authenticate': 'Basic realm="S&S Activewear"' }
    return json(401, { message: 'Authorization has been denied for this request.' }, challenge)
  }
  const listed = (name: string) => url.searchParams.get(name)?.split(',')
  const wanted = new Set([...(listed('style') ?? []), ...(listed('styleid') ?? [])])
  const found = products.filter(
    ({ id, style }) => wanted.size === 0 || wanted.has(String(id)) || wanted.has(style.style_number),
  )
  const rows = /\/styles\/?$/i.test(url.pathname) ? found.map(styleOf) : found.flatMap(skusOf)
  if (rows.length === 0 && wanted.size > 0) {
    const errors = [{ field: 'Style', message: 'Requested item(s) were not found or have been discontinued.' }]
    return json(404, { code: 404, message: 'One or more errors occurred.', errors })
  }
  const fields = listed('fields')
  const lower = fields && new Set(fields.map((field) => field.toLowerCase()))
  // A price is a number on the wire. Its digits are written as they are, because a JavaScript number may not hold them.
  const body = JSON.stringify(lower === undefined ? rows : rows.map((row) => picked(row, lower))).replaceAll(
    /"customerPrice":"([\d.]+)"/g,
    '"customerPrice":$1',
  )
  return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body }
}

const styleOf = ({ id, style }: LocalProduct): object => ({
  styleID: id,
  partNumber: `B${String(id).padStart(5, '0')}`,
  brandName: style.brand,
  styleName: style.style_number,
  title: style.name,
  description: `<ul><li>${style.name}</li></ul>`,
  baseCategory: style.category,
  newStyle: false,
})

const skusOf = ({ id, style, skus }: LocalProduct): object[] =>
  skus.map(({ sku, color, size, price }) => ({
    sku,
    styleID: id,
    brandName: style.brand,
    styleName: style.style_number,
    ...(color === null ? {} : { colorName: color }),
    sizeName: size,
    customerPrice: price,
    qty: 120,
  }))

const picked = (row: object, fields: ReadonlySet<string>): object =>
  Object.fromEntries(Object.entries(row).filter(([name]) => fields.has(name.toLowerCase())))
