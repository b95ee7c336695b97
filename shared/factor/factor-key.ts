import { createHmac, hash, hkdfSync } from 'node:crypto'
import type { FactorKey } from '#shared/secret/token-secrets.ts'
import { decryptText, DecryptionFailed, encryptText } from '#shared/vault/envelope.ts'

/** What a sealed text belongs to: it opens only for the same user, row and field. */
export interface Sealing {
  readonly userId: string
  /** The id of the factor or of the draft. */
  readonly rowId: string
  readonly field: 'totp-secret' | 'draft'
}

// Each use of the key has a label of its own, so that no result of one is a result of another.
const SEALING = 'tenantry factor sealing v1'
const WITNESS = 'tenantry factor witness v1'
const KEY_ID = 'tenantry factor key id v1'
const VERSION = 1

/** Returns the public name of a factor key, in the form of a UUID: 16 bytes of a hash. */
export function keyIdOf(factorKey: string): string {
  const hex = hash('sha256', `${KEY_ID}\0${factorKey}`).slice(0, 32)
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const sealingKey = (factorKey: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', factorKey, new Uint8Array(), SEALING, 32))

const bindingOf = ({ userId, rowId, field }: Sealing, keyId: string) => ({
  purpose: 'second-factor',
  ownerId: userId,
  rowId,
  field,
  dataKeyId: keyId,
  secretVersion: VERSION,
})

/** Encrypts a text under the current factor key. Returns it with the id of the key. */
export function seal({ factorKey }: FactorKey, text: string, sealing: Sealing): { sealed: Buffer; keyId: string } {
  const keyId = keyIdOf(factorKey)
  return { sealed: encryptText(sealingKey(factorKey), text, bindingOf(sealing, keyId)), keyId }
}

/** Returns the key of an id: the current one or, during a rotation, the previous one. Throws DecryptionFailed for any other. */
function keyOf({ factorKey, factorKeyPrevious }: FactorKey, keyId: string): string {
  const found = [factorKey, factorKeyPrevious].find((key) => key !== undefined && keyIdOf(key) === keyId)
  if (found === undefined) throw new DecryptionFailed()
  return found
}

/** Decrypts what `seal` returned. Throws DecryptionFailed for another key, user, row or field. */
export function unseal(
  keys: FactorKey,
  { sealed, keyId }: { sealed: Uint8Array; keyId: string },
  sealing: Sealing,
): string {
  return decryptText(sealingKey(keyOf(keys, keyId)), sealed, bindingOf(sealing, keyId))
}

/**
 * Returns the witness of a factor: 32 bytes that only code with the factor key can compute. The database stores their SHA-256,
 * and accepts a proof of the factor only with them. Throws DecryptionFailed for a key that is neither current nor previous.
 */
export const witnessOf = (keys: FactorKey, factor: { factorId: string; keyId: string }): Buffer =>
  createHmac('sha256', keyOf(keys, factor.keyId)).update(WITNESS).update('\0').update(factor.factorId).digest()
