import { createHash, randomUUID } from 'node:crypto'
import type { Database } from '#shared/db/connect.ts'
import type { TenantProof } from '#shared/db/scope.ts'
import { countMetric } from '#shared/base/metrics.ts'
import { type Binding, DecryptionFailed, decryptText, encryptText } from '#shared/vault/envelope.ts'
import { KeyCache } from '#shared/vault/key-cache.ts'
import { type KeyService, KeyServiceUnavailable } from '#shared/vault/key-service.ts'
import { type DataKey, findActiveKey, insertKey, type Purpose } from '#shared/vault/queries.ts'

/** What a secret is bound to, independent of the data key. */
export type EncryptionContext = Omit<Binding, 'dataKeyId' | 'ownerId' | 'purpose'> & {
  readonly purpose: Purpose
  readonly tenantId: string
}

const bindingOf = ({ tenantId, ...context }: EncryptionContext, dataKeyId: string): Binding => ({
  ...context,
  ownerId: tenantId,
  dataKeyId,
})

/** An encrypted secret, as it is stored. Both columns are written together. */
export interface EncryptedSecret {
  readonly dataKeyId: string
  readonly bytes: Buffer
}

/**
 * Encrypts secrets under their tenant's data key. Plaintext data keys stay in this process's memory, for minutes at
 * most. No transaction is open during a call to KMS.
 */
export interface Vault {
  /** Connects as the role that may read ciphertext. */
  readonly database: Database
  readonly keys: KeyService
  /**
   * Encrypts a text under the tenant's active data key, which it creates with the tenant's first secret. Calls KMS
   * every time, so that a disabled KMS key encrypts nothing. Throws KeyServiceUnavailable if KMS fails, after two
   * seconds at most. Requires proof for the tenant of the context.
   */
  encrypt(text: string, context: EncryptionContext, proof: TenantProof): Promise<EncryptedSecret>
  /** Decrypts a stored secret. Throws DecryptionFailed if it was encrypted with another key or context. */
  decrypt(encrypted: { readonly key: DataKey; readonly bytes: Uint8Array }, context: EncryptionContext): Promise<string>
  /** Overwrites the data keys in memory and closes the connections. */
  close(): Promise<void>
}

/** Returns how a process decrypts. It connects to no database. */
export function decrypter(keys: Pick<KeyService, 'unwrap'>, cache: KeyCache = new KeyCache()): Vault['decrypt'] {
  /** Returns a copy of a data key's plaintext, from memory or from KMS. The caller overwrites it. */
  const plaintextOf = async (key: DataKey, context: EncryptionContext): Promise<Buffer> => {
    const name = `${key.id} ${createHash('sha256').update(key.wrapped).digest('hex')}`
    const cached = cache.take(name)
    if (cached !== null) return cached
    const plaintext = await keys.unwrap(key, context)
    cache.put(name, plaintext)
    return plaintext
  }

  return async ({ key, bytes }, context) => {
    const plaintext = await plaintextOf(key, context)
    try {
      return decryptText(plaintext, bytes, bindingOf(context, key.id))
    } catch (error) {
      if (error instanceof DecryptionFailed) countMetric('DecryptionFailed')
      throw error
    } finally {
      plaintext.fill(0)
    }
  }
}

export function createVault(database: Database, keys: KeyService, cache: KeyCache = new KeyCache()): Vault {
  /** Returns the tenant's active data key. Concurrent requests that create the first one all use the stored one. */
  const activeKey = async (
    context: EncryptionContext,
    proof: TenantProof,
  ): Promise<{ id: string; plaintext: Buffer }> => {
    const { purpose } = context
    const find = () => proof.read(database, (sql) => findActiveKey(sql, purpose))
    let current = await find()
    if (current === null) {
      const { plaintext, ...wrapped } = await keys.generate(context)
      const created = { id: randomUUID(), ...wrapped }
      const stored = await proof.write(database, (sql) => insertKey(sql, purpose, created))
      if (stored) return { id: created.id, plaintext }
      plaintext.fill(0)
      current = await find()
      if (current === null) throw new KeyServiceUnavailable(new Error('the active data key changed during the request'))
    }
    return { id: current.id, plaintext: await keys.unwrap(current, context) }
  }

  return {
    database,
    keys,
    encrypt: async (text, context, proof) => {
      const { id, plaintext } = await activeKey(context, proof)
      try {
        return { dataKeyId: id, bytes: encryptText(plaintext, text, bindingOf(context, id)) }
      } finally {
        plaintext.fill(0)
      }
    },
    decrypt: decrypter(keys, cache),
    close: async () => {
      cache.clear()
      await database.close()
    },
  }
}
