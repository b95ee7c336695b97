import { randomBytes, randomUUID } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Binding,
  decryptText,
  PLAINTEXT_LIMIT_BYTES,
  DecryptionFailed,
  encryptText,
} from '#shared/vault/envelope.ts'
import { inRegion } from '#shared/vault/kms.ts'

const key = randomBytes(32)
const binding: Binding = {
  purpose: 'vendor-credential',
  ownerId: randomUUID(),
  rowId: randomUUID(),
  field: 'vendor_accounts.sealed_secret',
  dataKeyId: randomUUID(),
  secretVersion: 3,
}
const TEXT = 'a secret & its "quotes", ünïcode 🧵'

/** Returns the decrypted text, or the error. */
const opened = (sealed: Uint8Array, where: Binding = binding, by: Uint8Array = key): unknown => {
  try {
    return decryptText(by, sealed, where)
  } catch (error) {
    return error
  }
}

describe('encryptText and decryptText', () => {
  it('decrypts any text under the binding that it was encrypted with', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 2000 }), (text) => {
        fc.pre(text.isWellFormed() && Buffer.byteLength(text) <= PLAINTEXT_LIMIT_BYTES)
        expect(decryptText(key, encryptText(key, text, binding), binding)).toBe(text)
      }),
    )
    for (const length of [0, 1, 61, 62, 63, 64, 8191, PLAINTEXT_LIMIT_BYTES]) {
      const text = 'x'.repeat(length)
      expect(decryptText(key, encryptText(key, text, binding), binding)).toBe(text)
    }
    expect(() => encryptText(key, 'x'.repeat(PLAINTEXT_LIMIT_BYTES + 1), binding)).toThrow(RangeError)
  })

  it('encrypts the same text differently each time and pads it to a power of two', () => {
    const sealed = Array.from({ length: 50 }, (_, length) => encryptText(key, 'x'.repeat(length), binding))
    expect(new Set(sealed.map((bytes) => bytes.toString('hex'))).size).toBe(sealed.length)
    expect(new Set(sealed.map(({ length }) => length)).size).toBe(1)
    const nonces = sealed.map((bytes) => bytes.toString('hex', 17, 29))
    expect(new Set(nonces).size).toBe(sealed.length)
  })

  it('throws DecryptionFailed for any flipped bit', () => {
    const sealed = encryptText(key, TEXT, binding)
    for (let at = 0; at < sealed.length * 8; at += 1) {
      const flipped = Buffer.from(sealed)
      flipped[at >> 3] = (flipped[at >> 3] ?? 0) ^ (1 << (at & 7))
      expect(opened(flipped), `bit ${at}`).toEqual(new DecryptionFailed())
    }
  })

  it('throws DecryptionFailed for a ciphertext of any other length', () => {
    const sealed = encryptText(key, TEXT, binding)
    for (let length = 0; length < sealed.length; length += 1) {
      expect(opened(sealed.subarray(0, length)), `${length} bytes`).toEqual(new DecryptionFailed())
    }
    expect(opened(Buffer.concat([sealed, Buffer.alloc(1)]))).toEqual(new DecryptionFailed())
    expect(opened(Buffer.concat([sealed, sealed]))).toEqual(new DecryptionFailed())
  })

  it.each<[string, Partial<Binding>]>([
    ['another purpose', { purpose: 'vendor-credentials' }],
    ['another tenant', { ownerId: randomUUID() }],
    ['the same tenant in upper case', { ownerId: binding.ownerId.toUpperCase() }],
    ['another row of the tenant', { rowId: randomUUID() }],
    ['another column', { field: 'vendor_accounts.label' }],
    ['another data key id', { dataKeyId: randomUUID() }],
    ['an earlier version', { secretVersion: 2 }],
    ['a later version', { secretVersion: 4 }],
    ['swapped row and tenant', { ownerId: binding.rowId, rowId: binding.ownerId }],
  ])('throws DecryptionFailed for %s', (_, change) => {
    const place = { ...binding, ...change }
    expect(place).not.toEqual(binding)
    expect(opened(encryptText(key, TEXT, binding), place)).toEqual(new DecryptionFailed())
  })

  it('throws DecryptionFailed under another key or with another data key id', () => {
    const sealed = encryptText(key, TEXT, binding)
    expect(opened(sealed, binding, randomBytes(32))).toEqual(new DecryptionFailed())
    const renamed = Buffer.from(sealed)
    Buffer.from(randomUUID().replaceAll('-', ''), 'hex').copy(renamed, 1)
    expect(opened(renamed)).toEqual(new DecryptionFailed())
  })

  it('separates the parts of a binding unambiguously', () => {
    const one = { ...binding, purpose: 'ab', field: 'c' }
    const other = { ...binding, purpose: 'a', field: 'bc' }
    expect(opened(encryptText(key, TEXT, one), other)).toEqual(new DecryptionFailed())
    const quoted = { ...binding, purpose: 'a","b', field: 'c' }
    expect(opened(encryptText(key, TEXT, quoted), { ...binding, purpose: 'a', field: 'b","c' })).toEqual(
      new DecryptionFailed(),
    )
  })
})

describe('inRegion', () => {
  const arn = (region: string, id: string) => `arn:aws:kms:${region}:123456789012:key/${id}`

  it('names the replica of a multi-Region key in the own region, and leaves every other key as it is', () => {
    expect(inRegion('us-west-2', arn('us-east-1', 'mrk-1234'))).toBe(arn('us-west-2', 'mrk-1234'))
    expect(inRegion('us-west-2', arn('us-east-1', '1234'))).toBe(arn('us-east-1', '1234'))
    expect(inRegion('us-west-2', 'alias/vault')).toBe('alias/vault')
  })
})
