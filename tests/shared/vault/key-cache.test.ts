import { randomBytes } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { KeyCache } from '#shared/vault/key-cache.ts'

const BOUNDS = { maxKeys: 3, maxAgeMs: 1000, maxUses: 5 }

function cacheWithClock() {
  const clock = { now: 1_000_000 }
  return { clock, cache: new KeyCache(BOUNDS, () => clock.now) }
}

describe('KeyCache', () => {
  it('returns copies of a key, so that callers may overwrite them', () => {
    const { cache } = cacheWithClock()
    const key = randomBytes(32)
    cache.put('a', key)
    cache.take('a')?.fill(0)
    expect(cache.take('a')).toEqual(key)
    key.fill(0)
    expect(cache.take('a')).not.toEqual(key)
  })

  it('evicts the least recently used key above its size', () => {
    const { cache } = cacheWithClock()
    for (const name of ['a', 'b', 'c']) cache.put(name, randomBytes(32))
    cache.take('a')
    cache.put('d', randomBytes(32))
    expect(cache.size).toBe(3)
    expect(cache.take('b')).toBeNull()
    for (const name of ['a', 'c', 'd']) expect(cache.take(name)).not.toBeNull()
  })

  it('forgets a key at its maximum age, and when the clock was set back', () => {
    const { cache, clock } = cacheWithClock()
    cache.put('a', randomBytes(32))
    clock.now += BOUNDS.maxAgeMs - 1
    expect(cache.take('a')).not.toBeNull()
    clock.now += 1
    expect(cache.take('a')).toBeNull()
    cache.put('b', randomBytes(32))
    clock.now -= 1
    expect(cache.take('b')).toBeNull()
    expect(cache.size).toBe(0)
  })

  it('forgets a key after its maximum number of uses', () => {
    const { cache } = cacheWithClock()
    cache.put('a', randomBytes(32))
    for (let use = 0; use < BOUNDS.maxUses; use += 1) expect(cache.take('a')).not.toBeNull()
    expect(cache.take('a')).toBeNull()
  })

  it('overwrites every key that leaves the cache', () => {
    const { cache, clock } = cacheWithClock()
    const key = Buffer.alloc(32, 7)
    const copies = vi.spyOn(Buffer, 'from')
    for (const name of ['a', 'b', 'c', 'd', 'd']) cache.put(name, key)
    const kept: Buffer[] = copies.mock.results.map(({ value }) => value)
    copies.mockRestore()
    expect(kept.map((copy) => copy.every((byte) => byte === 0))).toEqual([true, false, false, true, false])
    clock.now += BOUNDS.maxAgeMs
    cache.take('b')
    cache.clear()
    expect(kept.every((copy) => copy.every((byte) => byte === 0))).toBe(true)
  })
})
