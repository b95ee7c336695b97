import { argon2Sync } from 'node:crypto'
import { argon2id } from 'hash-wasm'
import { describe, expect, it, vi } from 'vitest'
import { hashPassword, isOutdated, verifyPassword } from '#shared/password/argon2.ts'

// The spy counts the work.
vi.mock('hash-wasm', { spy: true })

const COST = { memoryKib: 64, iterations: 1 }
const PASSWORD = 'correct horse battery staple'

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

  it('verifies a hash that OpenSSL made', async () => {
    const nonce = Buffer.from('0123456789abcdef')
    const tag = argon2Sync('argon2id', {
      message: PASSWORD,
      nonce,
      parallelism: 1,
      tagLength: 32,
      memory: 64,
      passes: 3,
    })
    const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')
    const theirs = `$argon2id$v=19$m=64,t=3,p=1$${base64(nonce)}$${base64(tag)}`
    expect(await verifyPassword(PASSWORD, theirs, COST)).toBe(true)
    expect(await verifyPassword(`${PASSWORD}.`, theirs, COST)).toBe(false)
  })
})

describe('verifyPassword', () => {
  it('accepts exactly the hashed password, at any cost of the stored hash', async () => {
    for (const cost of [COST, { memoryKib: 8, iterations: 1 }, { memoryKib: 256, iterations: 2 }]) {
      const hash = await hashPassword(PASSWORD, cost)
      expect(await verifyPassword(PASSWORD, hash, COST)).toBe(true)
      for (const other of [PASSWORD.toUpperCase(), ` ${PASSWORD}`, PASSWORD.slice(0, -1), `${PASSWORD}\0`, 'x']) {
        expect(await verifyPassword(other, hash, COST), other).toBe(false)
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
      if (same(changed) !== same(hash)) expect(await verifyPassword(PASSWORD, changed, COST), changed).toBe(false)
    }
  })

  it('returns false without a usable hash', async () => {
    const [, , , , salt = '', tag = ''] = (await hashPassword(PASSWORD, COST)).split('$')
    for (const hash of [
      null,
      '',
      'garbage',
      PASSWORD,
      `$argon2id$v=19$m=4194304,t=1,p=1$${salt}$${tag}`,
      `$argon2id$v=19$m=99999999999999999999,t=1,p=1$${salt}$${tag}`,
      `$argon2id$v=19$m=-64,t=1,p=1$${salt}$${tag}`,
      `$argon2id$v=19$m=64,t=1000,p=1$${salt}$${tag}`,
      `$argon2id$v=19$m=64,t=1,p=64$${salt}$${tag}`,
      `$argon2id$v=19$m=7,t=1,p=1$${salt}$${tag}`,
      `$argon2id$v=19$m=64,t=0,p=1$${salt}$${tag}`,
      `$argon2id$v=16$m=64,t=1,p=1$${salt}$${tag}`,
      `$argon2i$v=19$m=64,t=1,p=1$${salt}$${tag}`,
      `$argon2id$v=19$m=64,t=1,p=1$$${tag}`,
      `$argon2id$v=19$m=64,t=1,p=1$${salt}$`,
      `$argon2id$v=19$m=64,t=1,p=1$${salt}$${tag}$`,
      `$argon2id$v=19$m=64,t=1,p=1$${salt}$${tag.slice(0, 4)}`,
      `$argon2id$v=19$m=64,t=1,p=0$${salt}$${tag}`,
      `$argon2id$m=64,t=1,p=1$${salt}$${tag}`,
      ` $argon2id$v=19$m=64,t=1,p=1$${salt}$${tag}`,
      `$argon2id$v=19$m=64,t=1,p=1$${salt}$${tag}\n`,
      '$'.repeat(10_000),
      '$2b$12$C6UzMDM.H6dfI/f/IKcEeO7kVYdFm0hQSbJ0pVbFm9Jvd7Wl5Q1iW',
    ]) {
      expect(await verifyPassword(PASSWORD, hash, COST), `${hash}`).toBe(false)
    }
  })
})

describe('the work of a verification', () => {
  it('is that of a hash at the current cost, at any lower cost of the stored hash', async () => {
    const current = { memoryKib: 512, iterations: 2 }
    const workAgainst = async (hash: string | null, password: string): Promise<number> => {
      vi.mocked(argon2id).mockClear()
      await verifyPassword(password, hash, current)
      return vi.mocked(argon2id).mock.calls.reduce((sum, [cost]) => sum + cost.memorySize * cost.iterations, 0)
    }
    const stored = [
      current,
      { memoryKib: 256, iterations: 2 },
      { memoryKib: 512, iterations: 1 },
      { memoryKib: 8, iterations: 1 },
    ]
    for (const hash of [null, 'garbage', ...(await Promise.all(stored.map((cost) => hashPassword(PASSWORD, cost))))]) {
      for (const password of ['a wrong password', PASSWORD])
        expect(await workAgainst(hash, password), `${hash}`).toBe(1024)
    }
  })
})

describe('isOutdated', () => {
  it('reports hashes of another cost, and unusable ones, as outdated', async () => {
    const hash = await hashPassword(PASSWORD, COST)
    expect(isOutdated(hash, COST)).toBe(false)
    expect(isOutdated(hash, { ...COST, memoryKib: 65 })).toBe(true)
    expect(isOutdated(hash, { ...COST, iterations: 2 })).toBe(true)
    expect(isOutdated('garbage', COST)).toBe(true)
  })
})
