import { randomUUID } from 'node:crypto'
import type { AuditEntry } from '#shared/audit/record-audit.ts'
import { errorCode, FOREIGN_KEY_VIOLATION } from '#shared/db/failure.ts'
import type { TenantProof, TenantTransaction } from '#shared/db/scope.ts'
import { DecryptionFailed } from '#shared/vault/envelope.ts'
import type { DataKey, Purpose } from '#shared/vault/queries.ts'
import { storeWithRetry } from '#shared/vault/store-with-retry.ts'
import type { Vault } from '#shared/vault/vault.ts'
import { secretContext } from '#shared/suppliers/account.ts'
import { openVendorCredential } from '#shared/suppliers/open-credential.ts'
import * as queries from './data-key-queries.ts'
import { type Instruction, recordCommand } from './instruction.ts'

const PURPOSE: Purpose = 'vendor-credential'
const BATCH = 50

/** Work on one tenant's data keys. Each step commits its own transaction, so the work may stop after any step. */
export interface KeyWork extends Instruction {
  readonly vault: Vault
  readonly tenantId: string
  /** Proof for the tenant, for the login of the vault. */
  readonly proof: TenantProof
  /** Returns whether too little time is left for another step. The caller then runs the work again. */
  readonly shouldStop: () => boolean
}

const inTenant = <T>({ vault, proof }: KeyWork, step: (sql: TenantTransaction) => Promise<T>): Promise<T> =>
  proof.write(vault.database, step)

const audit = (work: KeyWork, sql: TenantTransaction, entry: AuditEntry): Promise<void> =>
  recordCommand(sql, work.tenantId, work, entry)

/**
 * Replaces the tenant's data key, encrypts every secret under the new one, and destroys the old one. Secrets can be read
 * and written during the rotation. An interrupted rotation resumes where it stopped. Returns null if the tenant has no
 * data key. A secret that does not decrypt is listed in `unreadable`, and its data key stays.
 */
export async function rotateDataKey(work: KeyWork): Promise<Record<string, unknown> | null> {
  const retired = await inTenant(work, (sql) => queries.retiredKeys(sql, PURPOSE))
  if (retired.length === 0) {
    const replaced = await replaceActiveKey(work)
    if (replaced === null) return null
    retired.push(replaced)
  }
  const unreadable: string[] = []
  const result = { reencrypted: 0, destroyed: 0, unreadable, finished: false }
  let keysInUse = 0
  for (const keyId of retired) {
    const unreadableBefore = unreadable.length
    if (!(await reencryptAll(work, keyId, result))) return result
    if (unreadable.length > unreadableBefore) continue
    const outcome = await destroyKey(work, keyId)
    if (outcome === 'destroyed') result.destroyed += 1
    if (outcome === 'in use') keysInUse += 1
  }
  return { ...result, finished: keysInUse === 0 }
}

async function replaceActiveKey(work: KeyWork): Promise<string | null> {
  const { plaintext, ...wrapped } = await work.vault.keys.generate({ tenantId: work.tenantId, purpose: PURPOSE })
  plaintext.fill(0)
  const created = { id: randomUUID(), ...wrapped }
  return inTenant(work, async (sql) => {
    const replacedId = await queries.replaceActiveKey(sql, PURPOSE, created)
    if (replacedId !== null) {
      await audit(work, sql, { action: 'data_key.rotated', targetId: created.id, before: { id: replacedId } })
    }
    return replacedId
  })
}

/** Encrypts the secrets of a data key under the active one and counts them in `result`. Returns false if time ran out. */
async function reencryptAll(
  work: KeyWork,
  keyId: string,
  result: { reencrypted: number; unreadable: string[] },
): Promise<boolean> {
  let after: string | null = null
  for (;;) {
    const accounts: string[] = await inTenant(work, (sql) => queries.accountsUnder(sql, keyId, after, BATCH))
    if (accounts.length === 0) return true
    for (const accountId of accounts) {
      if (work.shouldStop()) return false
      try {
        if (await reencrypt(work, keyId, accountId)) result.reencrypted += 1
      } catch (error) {
        if (!(error instanceof DecryptionFailed)) throw error
        result.unreadable.push(accountId)
      }
      after = accountId
    }
  }
}

const reencrypt = (work: KeyWork, keyId: string, accountId: string): Promise<boolean> =>
  // A concurrent rotation or shred can destroy the new data key before the secret is stored.
  storeWithRetry(async () => {
    const { vault, proof, tenantId, requestId } = work
    const opening = { reason: 'rotate', requestId } as const
    const credential = await openVendorCredential(vault, { proof, tenantId, accountId }, opening)
    if (credential === null) return false
    const { secret, secretVersion } = credential
    const encrypted = await vault.encrypt(secret, secretContext(tenantId, accountId, secretVersion), proof)
    return inTenant(work, (sql) => queries.replaceCiphertext(sql, { accountId, keyId, secretVersion, encrypted }))
  })

/**
 * Destroys a retired data key. Returns `in use` if a secret is encrypted under it, and `gone` if a concurrent command
 * destroyed it.
 */
async function destroyKey(work: KeyWork, keyId: string): Promise<'destroyed' | 'in use' | 'gone'> {
  try {
    return await inTenant(work, async (sql) => {
      if (!(await queries.destroyKey(sql, keyId))) return 'gone'
      await audit(work, sql, { action: 'data_key.destroyed', targetId: keyId })
      return 'destroyed'
    })
  } catch (error) {
    if (errorCode(error) === FOREIGN_KEY_VIOLATION) return 'in use'
    throw error
  }
}

/**
 * Wraps the tenant's data keys with another KMS key. Neither the data keys nor the secrets change. Lists in `unreadable`
 * each data key that KMS does not unwrap for this tenant, and leaves it unchanged.
 */
export async function rewrapDataKeys(work: KeyWork, toKmsKeyArn: string): Promise<Record<string, unknown>> {
  const keys = await inTenant(work, (sql) => queries.keysNotWrappedBy(sql, toKmsKeyArn))
  const unreadable: string[] = []
  const result = { rewrapped: 0, unreadable, finished: false }
  for (const key of keys) {
    if (work.shouldStop()) return result
    try {
      if (await rewrap(work, key, toKmsKeyArn)) result.rewrapped += 1
    } catch (error) {
      if (!(error instanceof DecryptionFailed)) throw error
      unreadable.push(key.id)
    }
  }
  return { ...result, finished: true }
}

async function rewrap(
  work: KeyWork,
  key: DataKey & { readonly purpose: Purpose },
  toKmsKeyArn: string,
): Promise<boolean> {
  const { vault, tenantId } = work
  const { kmsKeyArn, wrapped } = await vault.keys.rewrap(key, { tenantId, purpose: key.purpose }, toKmsKeyArn)
  return inTenant(work, async (sql) => {
    if (!(await queries.replaceWrapping(sql, key, { kmsKeyArn, wrapped }))) return false
    const change = { before: { kms_key_arn: key.kmsKeyArn }, after: { kms_key_arn: kmsKeyArn } }
    await audit(work, sql, { action: 'data_key.rewrapped', targetId: key.id, ...change })
    return true
  })
}

/**
 * Erases every secret of the tenant and destroys its data keys, in one transaction. Runs the transaction again if a
 * secret was stored under a new data key during it.
 */
export async function shredTenant(work: KeyWork): Promise<Record<string, unknown>> {
  while (!work.shouldStop()) {
    try {
      return { ...(await shredOnce(work)), finished: true }
    } catch (error) {
      if (errorCode(error) !== FOREIGN_KEY_VIOLATION) throw error
    }
  }
  return { secrets_erased: 0, keys_destroyed: 0, finished: false }
}

const shredOnce = (work: KeyWork): Promise<Record<string, unknown>> =>
  inTenant(work, async (sql) => {
    // Writers take these locks in the same order. After the commit they find no account and no usable data key.
    await queries.lockVendorAccounts(sql)
    await queries.lockDataKeys(sql)
    const erased = await queries.eraseSecrets(sql, work)
    const keys = await queries.destroyAllKeys(sql)
    for (const id of keys) await audit(work, sql, { action: 'data_key.destroyed', targetId: id })
    return { secrets_erased: erased, keys_destroyed: keys.length }
  })
