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
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)
  if (mapped?.[1] !== undefined) return mapped[1]
  if (!ip.includes(':')) return ip
  const [head = '', tail] = ip.toLowerCase().split('%', 1)[0]?.split('::') ?? []
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const gap = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length)
  const groups = [...left, ...Array.from({ length: gap }, () => '0'), ...right]
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}
