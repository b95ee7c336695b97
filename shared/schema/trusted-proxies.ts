import { BlockList, isIP, SocketAddress } from 'node:net'
import * as v from 'valibot'

const family = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** Returns whether a list contains an address. Contains nothing that is no address. */
export const contains = (list: BlockList, address: string): boolean =>
  isIP(address) !== 0 && list.check(address, family(address))

/** Returns an IP address in its shortest spelling, or null for anything else. An address with a zone means nothing elsewhere. */
export const normalizeAddress = (text: string): string | null =>
  isIP(text) === 0 || text.includes('%') ? null : new SocketAddress({ address: text, family: family(text) }).address

function isCidr(text: string): boolean {
  const [address = '', prefix = '', ...rest] = text.split('/')
  if (normalizeAddress(address) === null || rest.length > 0) return false
  // AWS WAF does not accept /0, and a list of everybody is a mistake.
  return /^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= (isIP(address) === 6 ? 128 : 32)
}

/** A block of IP addresses: `203.0.113.7/32`, `2001:db8::/64`. */
export const Cidr = v.pipe(v.string(), v.check(isCidr, 'must be CIDR blocks with a prefix length'))

/** The setting TRUSTED_PROXIES: CIDR blocks, separated by commas. */
export const TrustedProxiesSetting = v.pipe(
  v.string(),
  v.transform((text) => text.split(',').filter((block) => block !== '')),
  v.array(Cidr),
  v.transform((blocks): BlockList => {
    const list = new BlockList()
    for (const block of blocks) {
      const [address = '', prefix] = block.split('/')
      list.addSubnet(address, Number(prefix), family(address))
    }
    return list
  }),
)
