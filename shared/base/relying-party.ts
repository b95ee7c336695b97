/** Whom passkeys are made for. */
export interface RelyingParty {
  readonly rpId: string
  /** The one origin that passkeys are used at. */
  readonly origin: string
}

/** The settings that name it: a part of `Config`. */
interface Settings {
  readonly factor: { readonly passkeyRpId: string }
  readonly mail: { readonly webBaseUrl: string }
}

// The parser of URLs writes every IPv4 address as four numbers.
const isIpAddress = (hostname: string): boolean => hostname.startsWith('[') || /^\d+(\.\d+){3}$/.test(hostname)

/** Browsers make a passkey for the host of the page, or for a domain above it that is no top-level one. */
export function rpIdFaults({ factor: { passkeyRpId: rpId }, mail: { webBaseUrl } }: Settings): readonly string[] {
  const { hostname } = new URL(webBaseUrl)
  const isParent = rpId.includes('.') && hostname.endsWith(`.${rpId}`)
  return rpId === '' || (!isIpAddress(hostname) && (rpId === hostname || isParent))
    ? []
    : ['PASSKEY_RP_ID must be the host of the front end or a parent domain of it, and no IP address']
}

/** Returns whom passkeys are made for, or null where browsers make none: the front end has an IP address as its host. */
export function relyingParty({ factor, mail: { webBaseUrl } }: Settings): RelyingParty | null {
  const { hostname, origin } = new URL(webBaseUrl)
  return isIpAddress(hostname) ? null : { rpId: factor.passkeyRpId || hostname, origin }
}
