import { textFaults, type VendorAdapter, type VendorCredential } from '#shared/suppliers/adapter.ts'
import { type BoundedResponse, boundedRequest, VendorUnreachable } from '#shared/outbound/bounded-request.ts'

/**
 * Verifies a credential with S&S Activewear's REST API: HTTP Basic with the account number and the API key. The URL is
 * the host's (https://api.ssactivewear.com). The request reads one field of the style in the documentation's example
 * (https://api.ssactivewear.com/V2/Styles.aspx), because every list is longer. Basic separates its two parts at the
 * first colon (RFC 7617), so an account number must not contain one.
 *
 * A 401 is a refusal. A 403 is one only in JSON, the API's own format: any other type may come from a firewall.
 */
export const ssActivewear: VendorAdapter = {
  faults: (credential) => [
    ...textFaults(credential),
    ...(credential.accountNumber.includes(':')
      ? [{ field: 'account_number', code: 'forbidden-character', character: 'a colon' } as const]
      : []),
  ],
  verify: async (url, credential, timeoutMs) => {
    const response = await boundedRequest(pathOf(url, 'v2/styles/?styleid=39&fields=StyleID&mediatype=json'), {
      method: 'GET',
      headers: { accept: 'application/json', authorization: basicCredential(credential) },
      statuses: [200, 401, 403],
      timeoutMs,
    })
    if (isRefusal(response)) return 'refused'
    if (response.status === 200 && isList(response.body)) return 'accepted'
    throw new VendorUnreachable('unexpected_response')
  },
}

/** Returns the URL of a path below the vendor's. */
export const pathOf = (url: URL, path: string): URL =>
  new URL(path, url.pathname.endsWith('/') ? url : new URL(`${url.pathname}/`, url))

export const basicCredential = ({ accountNumber, secret }: VendorCredential): string =>
  `Basic ${Buffer.from(`${accountNumber}:${secret}`).toString('base64')}`

export const isRefusal = ({ status, mediaType }: BoundedResponse): boolean =>
  status === 401 || (status === 403 && mediaType === 'application/json')

function isList(body: string): boolean {
  try {
    return Array.isArray(JSON.parse(body))
  } catch {
    return false
  }
}
