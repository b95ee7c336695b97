import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { keyIdOf, seal, unseal, witnessOf } from '#shared/factor/factor-key.ts'
import { DecryptionFailed } from '#shared/vault/envelope.ts'

const OLD = { factorKey: 'the first factor key of these tests!' }
const NEW = { factorKey: 'the next factor key of these tests!!' }
const ROTATING = { ...NEW, factorKeyPrevious: OLD.factorKey }
const sealing = { userId: randomUUID(), rowId: randomUUID(), field: 'totp-secret' } as const

describe('the factor key', () => {
  it('opens what it sealed, and the previous key too during a rotation', () => {
    const sealed = seal(OLD, 'a secret', sealing)
    expect(unseal(OLD, sealed, sealing)).toBe('a secret')
    expect(unseal(ROTATING, sealed, sealing)).toBe('a secret')
    expect(() => unseal(NEW, sealed, sealing)).toThrow(DecryptionFailed)
  })

  it.each([
    ['user', { userId: randomUUID() }],
    ['row', { rowId: randomUUID() }],
    ['field', { field: 'draft' as const }],
    ['order of user and row', { userId: sealing.rowId, rowId: sealing.userId }],
  ])('does not open it for another %s', (_what, change) => {
    const sealed = seal(OLD, 'a secret', sealing)
    expect(() => unseal(OLD, sealed, { ...sealing, ...change })).toThrow(DecryptionFailed)
  })

  it('does not open a text that claims the id of another key', () => {
    const { sealed } = seal(OLD, 'a secret', sealing)
    expect(() => unseal(ROTATING, { sealed, keyId: keyIdOf(NEW.factorKey) }, sealing)).toThrow(DecryptionFailed)
  })

  it('makes another witness for each factor and each key, and none for a key that it does not know', () => {
    const [factorId, keyId] = [randomUUID(), keyIdOf(OLD.factorKey)]
    const witnesses = [
      witnessOf(OLD, { factorId, keyId }),
      witnessOf(OLD, { factorId: randomUUID(), keyId }),
      witnessOf(NEW, { factorId, keyId: keyIdOf(NEW.factorKey) }),
    ]
    expect(new Set(witnesses.map(String)).size).toBe(3)
    expect(witnessOf(ROTATING, { factorId, keyId })).toEqual(witnesses[0])
    expect(() => witnessOf(NEW, { factorId, keyId })).toThrow(DecryptionFailed)
  })
})
