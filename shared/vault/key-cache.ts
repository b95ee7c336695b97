/** The limits of a cache of plaintext data keys. */
export interface CacheBounds {
  readonly maxKeys: number
  readonly maxAgeMs: number
  readonly maxUses: number
}

// Few and short-lived, as AWS advises for cached data keys:
// https://docs.aws.amazon.com/encryption-sdk/latest/developer-guide/data-caching-details.html
const BOUNDS: CacheBounds = { maxKeys: 100, maxAgeMs: 5 * 60_000, maxUses: 2 ** 20 }

interface Entry {
  readonly key: Buffer
  readonly putAt: number
  uses: number
}

/**
 * Keeps plaintext data keys in this process's memory, and overwrites every key that leaves the cache. A key's age is
 * measured by the wall clock, because timers stop while a Lambda is frozen.
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

  /** Returns a copy of the key, or null if it is missing, too old or used up. The caller overwrites the copy after use. */
  take(name: string): Buffer | null {
    const entry = this.#entries.get(name)
    if (entry === undefined) return null
    const age = this.#now() - entry.putAt
    if (age < 0 || age >= this.#bounds.maxAgeMs || entry.uses >= this.#bounds.maxUses) {
      this.#remove(name)
      return null
    }
    entry.uses += 1
    // Move to the end: the oldest entry is evicted first (LRU).
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    return Buffer.from(entry.key)
  }

  /** Stores a copy of the key. */
  put(name: string, key: Uint8Array): void {
    this.#remove(name)
    const [oldest] = this.#entries.keys()
    if (oldest !== undefined && this.#entries.size >= this.#bounds.maxKeys) this.#remove(oldest)
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
