import { argon2Sync, randomBytes } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { digestPassword, hashPassword, isOutdated } from '#shared/password/argon2.ts'
import type { Cost } from '#shared/password/cost.ts'
import { derive, deriveByOpenSsl, deriveByWasm } from '#shared/password/derive.ts'

// The spy counts the work.
vi.mock('#shared/password/derive.ts', { spy: true })

const COST = { memoryKib: 64, iterations: 1 }
const PASSWORD = 'correct horse battery staple'

/** A PHC string without its digest, and the digest. */
const partsOf = (hash: string) => {
  const at = hash.lastIndexOf('$')
  return { salt: hash.slice(0, at), digest: hash.slice(at + 1) }
}
const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')

/** Whether the digest of a password is that of the hash. The database compares them so. */
async function matches(password: string, hash: string, cost: Cost): Promise<boolean> {
  const { salt, digest } = partsOf(hash)
  return base64(await digestPassword(password, salt, [cost])) === digest
}

describe('hashPassword', () => {
  it('returns a PHC string of Argon2id with 16 bytes of salt and a 32-byte tag', async () => {
    const hash = await hashPassword(PASSWORD, { memoryKib: 128, iterations: 3 })
    const [, scheme, version, cost, salt = '', tag = ''] = hash.split('$')
    expect([scheme, version, cost]).toEqual(['argon2id', 'v=19', 'm=128,t=3,p=1'])
    expect(Buffer.from(salt, 'base64')).toHaveLength(16)
    expect(Buffer.from(tag, 'base64')).toHaveLength(32)
    expect(hash).not.toContain('=='.slice(1) + '$')
  })

  it('uses a new salt for each hash', async () => {
    const hashes = await Promise.all(Array.from({ length: 20 }, () => hashPassword(PASSWORD, COST)))
    expect(new Set(hashes.map((hash) => hash.split('$')[4])).size).toBe(20)
    expect(new Set(hashes.map((hash) => hash.split('$')[5])).size).toBe(20)
  })
})

describe('derive', () => {
  it('computes the same digests with OpenSSL and with WebAssembly', async () => {
    for (const password of [PASSWORD, 'p', 'пароль ünïcode 🔑', 'x'.repeat(512)]) {
      for (const cost of [COST, { memoryKib: 8, iterations: 1 }, { memoryKib: 1000, iterations: 3 }]) {
        for (const bytes of [8, 16, 64]) {
          const salt = randomBytes(bytes)
          expect(await deriveByOpenSsl?.(password, salt, cost)).toEqual(await deriveByWasm(password, salt, cost))
        }
      }
    }
  })

  it('uses an OpenSSL that computes the Argon2id vector of RFC 9106, section 5.3', () => {
    const tag = argon2Sync('argon2id', {
      message: Buffer.alloc(32, 1),
      nonce: Buffer.alloc(16, 2),
      secret: Buffer.alloc(8, 3),
      associatedData: Buffer.alloc(12, 4),
      parallelism: 4,
      tagLength: 32,
      memory: 32,
      passes: 3,
    })
    expect(tag.toString('hex')).toBe('0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659')
  })
})

describe('digestPassword', () => {
  it('computes the stored digest of the hashed password alone, at any cost of the stored hash', async () => {
    for (const cost of [COST, { memoryKib: 8, iterations: 1 }, { memoryKib: 256, iterations: 2 }]) {
      const hash = await hashPassword(PASSWORD, cost)
      expect(await matches(PASSWORD, hash, COST)).toBe(true)
      for (const other of [PASSWORD.toUpperCase(), ` ${PASSWORD}`, PASSWORD.slice(0, -1), `${PASSWORD}\0`, 'x']) {
        expect(await matches(other, hash, COST), other).toBe(false)
      }
    }
  })

  it('rejects a hash with any character changed', async () => {
    const hash = await hashPassword(PASSWORD, COST)
    for (let index = hash.indexOf('p=1$') + 4; index < hash.length; index += 1) {
      if (hash[index] === '$') continue
      const changed = `${hash.slice(0, index)}${hash[index] === 'A' ? 'B' : 'A'}${hash.slice(index + 1)}`
      // Decoding drops some bits of the last character of each part.
      const same = (text: string) =>
        text
          .split('$')
          .slice(4)
          .map((part) => Buffer.from(part, 'base64').toString('hex'))
          .join()
      if (same(changed) !== same(hash)) expect(await matches(PASSWORD, changed, COST), changed).toBe(false)
    }
  })

  it('computes another digest without a usable salt', async () => {
    const { salt: usable, digest } = partsOf(await hashPassword(PASSWORD, COST))
    const salt = usable.split('$').at(-1) ?? ''
    for (const text of [
      '',
      'garbage',
      PASSWORD,
      `$argon2id$v=19$m=4194304,t=1,p=1$${salt}`,
      `$argon2id$v=19$m=99999999999999999999,t=1,p=1$${salt}`,
      `$argon2id$v=19$m=-64,t=1,p=1$${salt}`,
      `$argon2id$v=19$m=64,t=1000,p=1$${salt}`,
      `$argon2id$v=19$m=64,t=1,p=64$${salt}`,
      `$argon2id$v=19$m=7,t=1,p=1$${salt}`,
      `$argon2id$v=19$m=64,t=0,p=1$${salt}`,
      `$argon2id$v=16$m=64,t=1,p=1$${salt}`,
      `$argon2i$v=19$m=64,t=1,p=1$${salt}`,
      `$argon2id$v=19$m=64,t=1,p=1$`,
      `$argon2id$v=19$m=64,t=1,p=1$${salt}$`,
      `$argon2id$v=19$m=64,t=1,p=0$${salt}`,
      `$argon2id$m=64,t=1,p=1$${salt}`,
      ` $argon2id$v=19$m=64,t=1,p=1$${salt}`,
      `$argon2id$v=19$m=64,t=1,p=1$${salt}\n`,
      '$'.repeat(10_000),
      '$2b$12$C6UzMDM.H6dfI/f/IKcEeO',
    ]) {
      expect(base64(await digestPassword(PASSWORD, text, [COST])), text).not.toBe(digest)
    }
  })
})

describe('the work of a digest', () => {
  it('is one hash at each cost in the same order, at any cost of the stored hash, and without one', async () => {
    const costs = [
      { memoryKib: 512, iterations: 2 },
      { memoryKib: 512, iterations: 1 },
      { memoryKib: 64, iterations: 3 },
    ]
    const hashes = await Promise.all(costs.map((cost) => hashPassword(PASSWORD, cost)))
    for (const hash of ['garbage', '$2b$12$x', ...hashes]) {
      for (const password of ['a wrong password', PASSWORD]) {
        vi.mocked(derive).mockClear()
        const { salt, digest } = partsOf(hash)
        expect(base64(await digestPassword(password, salt, costs)) === digest).toBe(
          hashes.includes(hash) && password === PASSWORD,
        )
        const work = vi.mocked(derive).mock.calls.map(([, , { memoryKib, iterations }]) => ({ memoryKib, iterations }))
        expect(work, hash).toEqual(costs)
      }
    }
  })
})

describe('isOutdated', () => {
  it('reports salts of another cost, and unusable ones, as outdated', async () => {
    const hash = partsOf(await hashPassword(PASSWORD, COST)).salt
    expect(isOutdated(hash, COST)).toBe(false)
    expect(isOutdated(hash, { ...COST, memoryKib: 65 })).toBe(true)
    expect(isOutdated(hash, { ...COST, iterations: 2 })).toBe(true)
    expect(isOutdated('garbage', COST)).toBe(true)
  })
})
