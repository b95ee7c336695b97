import { isIPv6 } from 'node:net'

/** One limit on one subject: at most `limit` attempts in any `windowSeconds`. Responses show `name`. */
export interface Limit {
  readonly name: string
  /** A keyed hash of the limited value (an email, a client network, an id), never the value itself. */
  readonly subject: Buffer
  readonly limit: number
  readonly windowSeconds: number
  /**
   * Which attempts count, of those whose outcome is settled. `until success`: each one, until it succeeds. `failures`: each one that
   * has failed, and a success forgets them. Without it, every attempt counts.
   */
  readonly counts?: 'until success' | 'failures'
  /** The subject of the wider limit that this one is a part of: `forgetWithParts` forgets both. */
  readonly partOf?: Buffer
  /** The keyed hash of a user's network. If the user has signed in from it in the last 30 days, this limit does not apply. */
  readonly unlessKnown?: Buffer
}

/** What an attempt took of its limits: keys of the cache, and what app.give_back_attempts gives back. */
export interface Taken {
  readonly inCache: readonly string[]
  readonly inDatabase: string
}

/** How an attempt ended. `refused`: attempts at the same time reached a limit on failures before this one was compared. */
export type AttemptOutcome = 'succeeded' | 'failed' | 'refused'

/** The limit that refused an attempt, and when a retry may succeed. */
export interface Refusal {
  readonly limit: Limit
  readonly retryAfterSeconds: number
}

/** Returns the seconds until the current window of a limit ends, at least 1. Windows begin at multiples of their length since 1970. */
export function secondsLeft(windowSeconds: number, now: number = Date.now()): number {
  const windowMs = windowSeconds * 1000
  return Math.max(1, Math.ceil((windowMs - (now % windowMs)) / 1000))
}

/**
 * Returns the network that a client's attempts are counted for. For IPv4, also mapped into IPv6, that is the address. For
 * IPv6 it is the /64, because one subscriber has at least that much (RFC 6177).
 */
export function clientNetwork(ip: string): string {
  const [address = ''] = ip.split('%', 1)
  if (!isIPv6(address)) return ip
  // The URL parser normalizes every spelling of an address: hexadecimal, without leading zeros.
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
