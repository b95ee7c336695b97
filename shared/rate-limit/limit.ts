import { isIPv6 } from 'node:net'

/** One limit on one subject: at most `limit` attempts in any `windowSeconds`. `name` is what clients are told. */
export interface Limit {
  readonly name: string
  /** A keyed hash of whom or what is limited, never the value itself. */
  readonly subject: Buffer
  readonly limit: number
  readonly windowSeconds: number
}

/** The limit that refused an attempt, and when to try again. */
export interface Refusal {
  readonly limit: Limit
  readonly retryAfterSeconds: number
}

/**
 * The address by which a client is counted: IPv4, also where it is written inside IPv6, whole; IPv6 by its /64, since
 * one subscriber holds at least that much (RFC 6177).
 */
export function clientNetwork(ip: string): string {
  const [address = ''] = ip.split('%', 1)
  if (!isIPv6(address)) return ip
  // The parser of URLs writes all spellings of an address alike: in hexadecimal, without leading zeros.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const groups = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => '0'), ...right]
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff') {
    const bytes = groups.slice(6).map((group) => Number.parseInt(group, 16))
    return bytes.flatMap((pair) => [pair >> 8, pair & 255]).join('.')
  }
  return `${groups.slice(0, 4).join(':')}::/64`
}
