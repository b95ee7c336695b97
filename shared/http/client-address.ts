import type { BlockList } from 'node:net'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import type { RequestHeaders } from '#shared/http/headers.ts'
import { contains, normalizeAddress } from '#shared/schema/trusted-proxies.ts'

/**
 * Returns the client's address: the one that API Gateway saw. Only if that is a trusted proxy's, it is the rightmost
 * address of X-Forwarded-For that no trusted proxy has. The client itself may have written everything left of it. A header
 * that has no address there is ignored.
 */
export function clientAddress(
  { requestContext }: Pick<APIGatewayProxyEvent, 'requestContext'>,
  headers: RequestHeaders,
  proxies: BlockList,
): string {
  const { sourceIp } = requestContext.identity
  if (!contains(proxies, sourceIp)) return sourceIp
  const values = headers.inOrder('x-forwarded-for')
  const addresses = values.flatMap((value) => value.split(',')).map((address) => address.trim())
  return normalizeAddress(addresses.findLast((address) => !contains(proxies, address)) ?? '') ?? sourceIp
}
