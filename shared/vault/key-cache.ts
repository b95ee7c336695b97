/** How much a cache of plaintext keys may hold, for how long, and how often each may be taken. */
export interface CacheBounds {
  readonly mostKeys: number
  readonly maxAgeMs: number
  readonly maxUses: number
}

// Few and short-lived, as AWS advises for cached data keys:
// https://docs.aws.amazon.com/encryption-sdk/latest/developer-guide/data-caching-details.html
const BOUNDS: CacheBounds = { mostKeys: 100, maxAgeMs: 5 * 60_000, maxUses: 2 ** 20 }

interface Entry {
  readonly key: Buffer
  readonly putAt: number
  uses: number
}

/**
 * Plaintext data keys, in the memory of this process alone. Whatever leaves the cache is overwritten. Age is by the wall
 * clock, since timers stand still while a Lambda is frozen.
 */
export class KeyCache {
  readonly #entries = new Map<string, Entry>()
  readonly #bounds: CacheBounds
  readonly #now: () => number

  constructor(bounds: CacheBounds = BOUNDS, now: () => number = Date.now) {
    this.#bounds = bounds
    this.#now = now
  }

  get size(): number {
    return this.#entries.size
  }

  /** A copy of the key, which the caller overwrites after use; null when it is not there, too old or used up. */
  take(name: string): Buffer | null {
    const entry = this.#entries.get(name)
    if (entry === undefined) return null
    const age = this.#now() - entry.putAt
    if (age < 0 || age >= this.#bounds.maxAgeMs || entry.uses >= this.#bounds.maxUses) {
      this.#remove(name)
      return null
    }
    entry.uses += 1
    // To the end of the order, of which the beginning goes first.
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    return Buffer.from(entry.key)
  }

  /** Keeps a copy of the key. */
  put(name: string, key: Uint8Array): void {
    this.#remove(name)
    const [oldest] = this.#entries.keys()
    if (oldest !== undefined && this.#entries.size >= this.#bounds.mostKeys) this.#remove(oldest)
    this.#entries.set(name, { key: Buffer.from(key), putAt: this.#now(), uses: 0 })
  }

  clear(): void {
    for (const { key } of this.#entries.values()) key.fill(0)
    this.#entries.clear()
  }

  #remove(name: string): void {
    this.#entries.get(name)?.key.fill(0)
    this.#entries.delete(name)
  }
}
