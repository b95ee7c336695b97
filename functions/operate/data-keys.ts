import { randomUUID } from 'node:crypto'
import { type AuditEntry, recordAudit } from '#shared/audit/record-audit.ts'
import { errorCode, FOREIGN_KEY_VIOLATION } from '#shared/db/failure.ts'
import { enterTenant, type TenantTransaction } from '#shared/db/scope.ts'
import { DecryptionFailed } from '#shared/vault/envelope.ts'
import type { DataKey, Purpose } from '#shared/vault/queries.ts'
import { storeWithRetry } from '#shared/vault/store-with-retry.ts'
import type { Vault } from '#shared/vault/vault.ts'
import { secretContext } from '#shared/vendor/account.ts'
import { openVendorCredential } from '#shared/vendor/open-credential.ts'
import * as queries from './data-key-queries.ts'

const PURPOSE: Purpose = 'vendor-credential'
const BATCH = 50

/** Work on one tenant's data keys. Each step is a transaction of its own, and the work can stop after any of them. */
export interface KeyWork {
  readonly vault: Vault
  readonly tenantId: string
  readonly requestId: string
  /** Returns whether to stop now; the operator then repeats the command. */
  readonly shouldStop: () => boolean
}

type RecordEntry = (entry: AuditEntry) => Promise<void>

const inTenant = <T>(
  { vault, tenantId, requestId }: KeyWork,
  step: (sql: TenantTransaction, record: RecordEntry) => Promise<T>,
): Promise<T> =>
  vault.database.transaction('read write', async (sql) => {
    const scoped = await enterTenant(sql, tenantId)
    return step(scoped, (entry) =>
      recordAudit({ sql: scoped, tenantId, actorUserId: null, requestId, ipHash: null }, entry),
    )
  })

/**
 * Replaces the tenant's data key, encrypts every secret with the new one, and destroys the old one. Secrets can be read and
 * written all the while. An interrupted rotation resumes where it stopped. Returns null when the tenant has no data key.
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
  let left = 0
  for (const keyId of retired) {
    const before = unreadable.length
    if (!(await emptyKey(work, keyId, result))) return result
    if (unreadable.length > before) continue
    const outcome = await destroyKey(work, keyId)
    if (outcome === 'destroyed') result.destroyed += 1
    if (outcome === 'in use') left += 1
  }
  return { ...result, finished: left === 0 }
}

async function replaceActiveKey(work: KeyWork): Promise<string | null> {
  const { plaintext, ...wrapped } = await work.vault.keys.generate({ tenantId: work.tenantId, purpose: PURPOSE })
  plaintext.fill(0)
  const made = { id: randomUUID(), ...wrapped }
  return inTenant(work, async (sql, record) => {
    const replaced = await queries.replaceActiveKey(sql, PURPOSE, made)
    if (replaced !== null) {
      await record({ action: 'data_key.rotated', targetId: made.id, before: { id: replaced } })
    }
    return replaced
  })
}

/** Encrypts every secret of a data key with the active key. Returns false when it ran out of time. */
async function emptyKey(
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
  // Retried when another rotation, or a shred, destroys the new data key before the secret is stored.
  storeWithRetry(async () => {
    const { vault, tenantId, requestId } = work
    const opening = { reason: 'rotate', actorUserId: null, requestId } as const
    const credential = await openVendorCredential(vault, { tenantId, accountId }, opening)
    if (credential === null) return false
    const { secret, secretVersion } = credential
    const encrypted = await vault.encrypt(secret, secretContext(tenantId, accountId, secretVersion))
    return inTenant(work, (sql) => queries.reencrypt(sql, { accountId, keyId, secretVersion, encrypted }))
  })

/** Returns `in use` when a secret was encrypted with the key again, `gone` when another rotation or a shred destroyed it. */
async function destroyKey(work: KeyWork, keyId: string): Promise<'destroyed' | 'in use' | 'gone'> {
  try {
    return await inTenant(work, async (sql, record) => {
      if (!(await queries.destroyKey(sql, keyId))) return 'gone'
      await record({ action: 'data_key.destroyed', targetId: keyId })
      return 'destroyed'
    })
  } catch (error) {
    if (errorCode(error) === FOREIGN_KEY_VIOLATION) return 'in use'
    throw error
  }
}

/**
 * Wraps the tenant's data keys with another KMS key. The data keys and the secrets stay as they are. Skips a data key that
 * KMS cannot decrypt, and returns its id among the unreadable ones.
 */
export async function rewrapDataKeys(work: KeyWork, toKmsKeyArn: string): Promise<Record<string, unknown>> {
  const keys = await inTenant(work, (sql) => queries.keysWrappedByOthers(sql, toKmsKeyArn))
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
  return inTenant(work, async (sql, record) => {
    if (!(await queries.replaceWrapping(sql, key, { kmsKeyArn, wrapped }))) return false
    const change = { before: { kms_key_arn: key.kmsKeyArn }, after: { kms_key_arn: kmsKeyArn } }
    await record({ action: 'data_key.rewrapped', targetId: key.id, ...change })
    return true
  })
}

/**
 * Erases every encrypted secret of the tenant and destroys its data keys, in one transaction. Repeats it when a secret was
 * encrypted with a new data key in between.
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
  inTenant(work, async (sql, record) => {
    // The order in which writers lock them. A waiting writer then finds the account or the data key gone.
    await queries.lockVendorAccounts(sql)
    await queries.lockDataKeys(sql)
    const erased = await queries.eraseSecrets(sql, work.requestId)
    const keys = await queries.destroyAllKeys(sql)
    for (const id of keys) await record({ action: 'data_key.destroyed', targetId: id })
    return { secrets_erased: erased, keys_destroyed: keys.length }
  })
