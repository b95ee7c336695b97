import { textFaults, type VendorAdapter } from '#shared/vendor/adapter.ts'
import { boundedRequest, VendorUnreachable } from '#shared/vendor/bounded-request.ts'

/**
 * S&S Activewear's REST API: HTTP Basic with account number and API key, and the URL is that of the host
 * (https://api.ssactivewear.com). It is asked for one field of one style, the one that its documentation shows, since any
 * list is longer (https://api.ssactivewear.com/V2/Styles.aspx). Basic's two parts are encoded as UTF-8 (RFC 7617), and
 * the first colon parts them, so an account number with one is a fault.
 *
 * 401 is a refusal, and so is a 403 in JSON, as the API answers; in any other type a firewall may have said it.
 */
export const ssActivewear: VendorAdapter = {
  faults: (credential) => [
    ...textFaults(credential),
    ...(credential.accountNumber.includes(':')
      ? [{ field: 'account_number', detail: 'must not contain a colon' } as const]
      : []),
  ],
  verify: async (url, { accountNumber, secret }, timeoutMs) => {
    const base = url.pathname.endsWith('/') ? url : new URL(`${url.pathname}/`, url)
    const { status, mediaType, body } = await boundedRequest(
      new URL('v2/styles/?styleid=39&fields=StyleID&mediatype=json', base),
      {
        method: 'GET',
        headers: {
          accept: 'application/json',
          authorization: `Basic ${Buffer.from(`${accountNumber}:${secret}`).toString('base64')}`,
        },
        statuses: [200, 401, 403],
        timeoutMs,
      },
    )
    if (status === 401 || (status === 403 && mediaType === 'application/json')) return 'refused'
    if (status === 200 && isList(body)) return 'accepted'
    throw new VendorUnreachable('unexpected_response')
  },
}

function isList(body: string): boolean {
  try {
    return Array.isArray(JSON.parse(body))
  } catch {
    return false
  }
}
