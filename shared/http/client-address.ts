import type { BlockList } from 'node:net'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import type { RequestHeaders } from '#shared/http/headers.ts'
import { log } from '#shared/base/log.ts'
import { countMetric } from '#shared/base/metrics.ts'
import { contains, normalizeAddress } from '#shared/schema/trusted-proxies.ts'
import { UUID } from '#shared/schema/uuid.ts'

/**
 * Returns the client's address: the one that API Gateway saw. Only if that is a trusted proxy's, it is the rightmost
 * address of X-Forwarded-For that no trusted proxy has. The client itself may have written everything left of it. A header
 * that has something else there is ignored, with a warning: every client of the proxy would share its limits.
 */
export function clientAddress(
  { requestContext }: Pick<APIGatewayProxyEvent, 'requestContext'>,
  headers: RequestHeaders,
  proxies: BlockList,
): string {
  const { sourceIp } = requestContext.identity
  if (!contains(proxies, sourceIp)) return sourceIp
  const values = headers.inOrder('x-forwarded-for')
  const addresses = values.flatMap((value) => value.split(',')).map((text) => forwardedAddress(text.trim()))
  const client = addresses.findLast((address) => address === null || !contains(proxies, address))
  if (client !== null && (values.length > 0 || headers.all('x-forwarded-for').length === 0)) return client ?? sourceIp
  countMetric('ForwardedForUnreadable')
  log.warn('a trusted proxy sent no address of its client in X-Forwarded-For; counting the client as the proxy', {
    // A client may set it to any text.
    request_id: UUID.test(requestContext.requestId) ? requestContext.requestId : null,
  })
  return sourceIp
}

// https://www.rfc-editor.org/rfc/rfc7239#section-6: IPv6 in brackets, a port or its pseudonym, quotes. Many proxies write an IPv6
// address without brackets, which has no port then.
const NODE = /^(?:for=)?("?)(?:\[([\da-f:.]+)\](?::PORT)?|([\d.]+)(?::PORT)?|([\da-f:.]+))\1$/.source
const FORWARDED = new RegExp(NODE.replaceAll('PORT', '(?:\\d{1,5}|_[\\w.-]+)'), 'i')

/** Returns the address of an entry of X-Forwarded-For, or null if it has none. */
function forwardedAddress(entry: string): string | null {
  const [, , bracketed, ipv4, plain] = FORWARDED.exec(entry) ?? []
  return normalizeAddress(bracketed ?? ipv4 ?? plain ?? '')
}
