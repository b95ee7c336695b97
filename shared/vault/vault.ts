import { createHash, randomUUID } from 'node:crypto'
import type { Database } from '#shared/db/connect.ts'
import { enterTenant, readInTenant } from '#shared/db/scope.ts'
import { countMetric } from '#shared/log.ts'
import { type Binding, openText, DecryptionFailed, sealText } from '#shared/vault/envelope.ts'
import { KeyCache } from '#shared/vault/key-cache.ts'
import { type KeyService, KeyServiceUnavailable } from '#shared/vault/kms.ts'
import { type DataKey, findActiveKey, insertKey, type Purpose } from '#shared/vault/queries.ts'

/** Where a sealed text belongs: all of its binding but the data key. */
export type EncryptionContext = Omit<Binding, 'dataKeyId' | 'purpose'> & { readonly purpose: Purpose }

/** What is stored of a sealed text. Both columns are written together. */
export interface Sealed {
  readonly dataKeyId: string
  readonly bytes: Buffer
}

/**
 * Seals texts under data keys of their tenants. Plaintext keys live in this process's memory alone, for minutes; no
 * transaction is open while KMS is asked.
 */
export interface Vault {
  /** By the role that handles ciphertext. */
  readonly database: Database
  readonly keys: KeyService
  /**
   * Seals a text for its place under the tenant's active data key, which is made with the tenant's first secret. KMS is
   * asked each time, so that a key of its that was disabled seals nothing more. Throws KeyServiceUnavailable, after two
   * seconds at the latest, when it cannot be sealed.
   */
  seal(text: string, place: EncryptionContext): Promise<Sealed>
  /** Opens what was sealed under a stored key for this place. Throws DecryptionFailed when it was not. */
  open(sealed: { readonly key: DataKey; readonly bytes: Uint8Array }, place: EncryptionContext): Promise<string>
  /** Overwrites the keys in memory and closes the connections. */
  close(): Promise<void>
}

export function createVault(database: Database, keys: KeyService, cache: KeyCache = new KeyCache()): Vault {
  /** The plaintext of a stored key from memory or else from KMS, a copy for the caller to overwrite. */
  const plaintextOf = async (key: DataKey, context: EncryptionContext): Promise<Buffer> => {
    const name = `${key.id} ${createHash('sha256').update(key.wrapped).digest('hex')}`
    const cached = cache.take(name)
    if (cached !== null) return cached
    const plaintext = await keys.unwrap(key, context)
    cache.put(name, plaintext)
    return plaintext
  }

  /** The tenant's active key. Of any number who make the first at once, one is stored and all use that one. */
  const activeKey = async (place: EncryptionContext): Promise<{ id: string; plaintext: Buffer }> => {
    const { tenantId, purpose } = place
    const find = () => readInTenant(database, tenantId, (sql) => findActiveKey(sql, purpose))
    let present = await find()
    if (present === null) {
      const { plaintext, ...wrapped } = await keys.generate(place)
      const made = { id: randomUUID(), ...wrapped }
      const stored = await database.transaction('read write', async (sql) =>
        insertKey(await enterTenant(sql, tenantId), purpose, made),
      )
      if (stored) return { id: made.id, plaintext }
      plaintext.fill(0)
      present = await find()
      if (present === null) throw new KeyServiceUnavailable(new Error('the active data key was replaced meanwhile'))
    }
    return { id: present.id, plaintext: await keys.unwrap(present, place) }
  }

  return {
    database,
    keys,
    seal: async (text, place) => {
      const { id, plaintext } = await activeKey(place)
      try {
        return { dataKeyId: id, bytes: sealText(plaintext, text, { ...place, dataKeyId: id }) }
      } finally {
        plaintext.fill(0)
      }
    },
    open: async ({ key, bytes }, place) => {
      const plaintext = await plaintextOf(key, place)
      try {
        return openText(plaintext, bytes, { ...place, dataKeyId: key.id })
      } catch (error) {
        if (error instanceof DecryptionFailed) countMetric('DecryptionFailed')
        throw error
      } finally {
        plaintext.fill(0)
      }
    },
    close: async () => {
      cache.clear()
      await database.close()
    },
  }
}
