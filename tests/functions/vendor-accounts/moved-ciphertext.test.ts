import { randomUUID } from 'node:crypto'
import { CreateKeyCommand } from '@aws-sdk/client-kms'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { rotateDataKey } from '#functions/workers/operate/data-keys.ts'
import { vendorAccounts } from '#infra/local/vendors/vendors.ts'
import { log } from '#shared/base/log.ts'
import { DecryptionFailed } from '#shared/vault/envelope.ts'
import { keyService } from '#shared/vault/kms.ts'
import { readEncryptedSecret, recordOpening } from '#shared/vault/queries.ts'
import type { Vault } from '#shared/vault/vault.ts'
import { openVendorCredential } from '#shared/suppliers/open-credential.ts'
import { proofFor } from '#tests/support/proof.ts'
import { connectTo } from '#tests/support/access.ts'
import type { TestTenant } from '#tests/support/minted-session.ts'
import { useService } from '#tests/support/test.ts'
import { INSTRUCTION } from '#tests/support/operator.ts'

// An attacker who can write rows, but not call KMS, moves ciphertexts and keys. Nothing may decrypt in another place.

const service = useService({ env: { VENDOR_TENANT_LIMIT: '100000' } })

type Tenant = TestTenant<'admin'>
interface Row {
  readonly id: string
  readonly sealed_secret: Buffer
  readonly data_key_id: string
  readonly secret_version: number
}

const [SS] = vendorAccounts as [(typeof vendorAccounts)[0]]
const OPENING = { reason: 'catalog', requestId: null } as const

const vendor = (mode: 'ok' | 'refuse') => service.vault.faults.set({ part: 'vendor', mode })

const newTenant = () => service.newTenant('admin')

/** Connects an account with any secret, because its vendor is down. */
async function connect({ admin: { token } }: Tenant, secret: string): Promise<string> {
  await vendor('refuse')
  const connected = await service.request('POST /v1/vendor-accounts', {
    token,
    body: { vendor: SS.code, account_number: SS.account_number, secret },
  })
  await vendor('ok')
  expect(connected.status).toBe(200)
  return connected.body.id
}

async function rowOf(id: string): Promise<Row> {
  const [row] = await service.sql<Row[]>`
    select id, sealed_secret, data_key_id, secret_version from app.vendor_accounts where id = ${id}`
  if (row === undefined) throw new Error('no such account')
  return row
}

const keyOf = async ({ id }: Tenant) => {
  const [key] = await service.sql<{ id: string; wrapped_key: Buffer; kms_key_arn: string }[]>`
    select id, wrapped_key, kms_key_arn from app.data_keys where tenant_id = ${id} and status = 'active'`
  if (key === undefined) throw new Error('no key')
  return key
}

const putText = (id: string, sealed: Uint8Array) =>
  service.sql`update app.vendor_accounts set sealed_secret = ${Buffer.from(sealed)} where id = ${id}`
const putWrapped = (id: string, wrapped: Uint8Array) =>
  service.sql`update app.data_keys set wrapped_key = ${Buffer.from(wrapped)} where id = ${id}`

/** Returns the decrypted secret of an account, or the error. */
async function opened({ id }: Tenant, accountId: string, vault: Vault = service.runtime.vault): Promise<unknown> {
  try {
    return (
      (await openVendorCredential(vault, { proof: proofFor(service.sql, id), tenantId: id, accountId }, OPENING))
        ?.secret ?? null
    )
  } catch (error) {
    return error
  }
}

/** Expects DecryptionFailed with an empty key cache and with a filled one. */
async function expectBroken(tenant: Tenant, accountId: string): Promise<void> {
  const cold = service.vault.openVault(service.database)
  expect(await opened(tenant, accountId, cold)).toEqual(new DecryptionFailed())
  await cold.close()
  expect(await opened(tenant, accountId)).toEqual(new DecryptionFailed())
  await expectPlainFailure(tenant, accountId)
}

/** Expects the generic 500 response, which reveals nothing of the cause. */
async function expectPlainFailure({ admin: { token } }: Tenant, accountId: string): Promise<void> {
  const answer = await service.request(`POST /v1/vendor-accounts/${accountId}/verify`, { token })
  const { instance, ...said } = answer.body
  expect(instance).toEqual(expect.any(String))
  expect([answer.status, said]).toEqual([500, { type: 'about:blank', title: 'Internal Server Error', status: 500 }])
}

describe('ciphertext that is moved', () => {
  let own: Tenant
  let other: Tenant
  let first: Row
  let second: Row
  let foreign: Row
  beforeEach(async () => {
    ;[own, other] = await Promise.all([newTenant(), newTenant()])
    first = await rowOf(await connect(own, 'the first secret'))
    second = await rowOf(await connect(own, 'the second secret'))
    foreign = await rowOf(await connect(other, 'the secret of another tenant'))
  })

  it('decrypts no secret moved to another account of the tenant, until it is moved back', async () => {
    expect(await opened(own, first.id)).toBe('the first secret')
    await putText(first.id, second.sealed_secret)
    await putText(second.id, first.sealed_secret)
    await expectBroken(own, first.id)
    await expectBroken(own, second.id)
    await putText(first.id, first.sealed_secret)
    expect(await opened(own, first.id)).toBe('the first secret')
  })

  it('decrypts no secret moved to another tenant, with or without its key', async () => {
    const move = service.sql`
      update app.vendor_accounts set sealed_secret = ${foreign.sealed_secret}, data_key_id = ${foreign.data_key_id}
       where id = ${first.id}`
    await expect(move).rejects.toMatchObject({ code: '23503', constraint_name: 'vendor_accounts_key_is_usable' })
    await putText(first.id, foreign.sealed_secret)
    await expectBroken(own, first.id)
    // Moving the whole account with its id and key does not help either.
    await service.sql`update app.vendor_accounts set sealed_secret = null, data_key_id = null, status = 'revoked',
                         revoked_at = now() where id = ${foreign.id}`
    await service.sql`update app.data_keys set tenant_id = ${own.id}, status = 'decrypt_only' where id = ${foreign.data_key_id}`
    await service.sql`update app.vendor_accounts set tenant_id = ${own.id}, sealed_secret = ${foreign.sealed_secret},
                         data_key_id = ${foreign.data_key_id}, status = 'verified', revoked_at = null where id = ${foreign.id}`
    await expectBroken(own, foreign.id)
  })

  it('decrypts no replaced secret that is restored from before the replacement', async () => {
    const replaced = await service.request(`PUT /v1/vendor-accounts/${first.id}/secret`, {
      token: own.admin.token,
      body: { secret: SS.secret },
    })
    expect(replaced.status).toBe(200)
    const present = await rowOf(first.id)
    expect(present.secret_version).toBe(2)
    await putText(first.id, first.sealed_secret)
    await expectBroken(own, first.id)

    // A trigger prevents restoring the old version.
    const app = connectTo(service.database.appUrl)
    const back = app.write(async (sql) => {
      const scoped = await proofFor(service.sql, own.id).enter(sql)
      return scoped`update app.vendor_accounts set sealed_secret = ${first.sealed_secret}, secret_version = 1
                     where id = ${first.id}`
    })
    await expect(back).rejects.toMatchObject({ code: '23514' })
    await app.close()
    const putBack = () => service.sql`
      update app.vendor_accounts set sealed_secret = ${first.sealed_secret}, secret_version = 1,
             data_key_id = ${first.data_key_id} where id = ${first.id}`
    await expect(putBack()).rejects.toMatchObject({ code: '23514' })

    // Without the trigger the old row decrypts until its data key is rotated.
    await service.sql`alter table app.vendor_accounts disable trigger vendor_accounts_versions_grow`
    try {
      await putBack()
      expect(await opened(own, first.id)).toBe('the first secret')
      await putText(first.id, present.sealed_secret)
      await service.sql`update app.vendor_accounts set secret_version = 2 where id = ${first.id}`
      const proof = proofFor(service.sql, own.id)
      const work = { ...INSTRUCTION, proof, vault: service.runtime.vault, tenantId: own.id, shouldStop: () => false }
      expect(await rotateDataKey(work)).toMatchObject({ destroyed: 1, unreadable: [], finished: true })
      await expect(putBack()).rejects.toMatchObject({ code: '23503' })
      await service.sql`update app.vendor_accounts set sealed_secret = ${first.sealed_secret}, secret_version = 1
                     where id = ${first.id}`
      await expectBroken(own, first.id)
    } finally {
      await service.sql`alter table app.vendor_accounts enable trigger vendor_accounts_versions_grow`
    }
  })

  it('decrypts no secret under another key of the tenant or a later version', async () => {
    const key = await keyOf(own)
    const retired = randomUUID()
    await service.sql`
      insert into app.data_keys (id, tenant_id, purpose, status, kms_key_arn, wrapped_key)
      values (${retired}, ${own.id}, 'vendor-credential', 'decrypt_only', ${key.kms_key_arn}, ${key.wrapped_key})`
    await service.sql`update app.vendor_accounts set data_key_id = ${retired} where id = ${first.id}`
    await expectBroken(own, first.id)
    await service.sql`update app.vendor_accounts set secret_version = 7 where id = ${second.id}`
    await expectBroken(own, second.id)
  })

  it('decrypts no secret with a changed byte or cut short', { timeout: 60_000 }, async () => {
    const { sealed_secret: text } = first
    const broken: unknown[] = []
    for (let at = 0; at < text.length; at += 1) {
      const changed = Buffer.from(text)
      changed[at] = (changed[at] ?? 0) ^ (1 << (at & 7))
      await putText(first.id, changed)
      broken.push(await opened(own, first.id))
    }
    expect(broken).toEqual(Array.from(text, () => new DecryptionFailed()))
    for (const bytes of [1, 4, 8, 12, 15, 16, 17]) {
      await putText(first.id, text.subarray(0, -bytes))
      await expectBroken(own, first.id)
    }
    await putText(first.id, Buffer.concat([text, text]))
    await expectBroken(own, first.id)
    for (const none of [Buffer.alloc(0), text.subarray(0, 44)]) {
      await expect(putText(first.id, none)).rejects.toMatchObject({ code: '23514' })
    }
  })
})

describe('a wrapped key that is changed', () => {
  it.each([
    ["another tenant's", async (_: Tenant, other: Tenant) => (await keyOf(other)).wrapped_key],
    ['one for another purpose', (own: Tenant) => made({ tenantId: own.id, purpose: 'mail' })],
    ['one whose context is in upper case', (own: Tenant) => made({ tenantId: own.id.toUpperCase() })],
    ['one whose purpose is in upper case', (own: Tenant) => made({ tenantId: own.id, purpose: 'Vendor-Credential' })],
    ['another one of the same tenant', (own: Tenant) => made({ tenantId: own.id })],
    ['one with a byte changed', async (own: Tenant) => flipped((await keyOf(own)).wrapped_key)],
    ['a truncated one', async (own: Tenant) => (await keyOf(own)).wrapped_key.subarray(0, -1)],
    ['arbitrary bytes', async () => Buffer.from('none')],
  ])('decrypts nothing when the wrapped key is replaced by %s, even with the right key cached', async (_, change) => {
    const [own, other] = [await newTenant(), await newTenant()]
    const id = await connect(own, 'a secret')
    await connect(other, 'another')
    expect(await opened(own, id)).toBe('a secret')
    const key = await keyOf(own)
    await putWrapped(key.id, await change(own, other))
    await expectBroken(own, id)
    await putWrapped(key.id, key.wrapped_key)
    expect(await opened(own, id)).toBe('a secret')
  })

  it('decrypts nothing when the wrapped key names another KMS key', async () => {
    const own = await newTenant()
    const id = await connect(own, 'a secret')
    const key = await keyOf(own)
    const { KeyMetadata } = await service.vault.kms.send(new CreateKeyCommand({}))
    await service.sql`update app.data_keys set kms_key_arn = ${KeyMetadata?.Arn ?? ''} where id = ${key.id}`
    const cold = service.vault.openVault(service.database)
    expect(await opened(own, id, cold)).toEqual(new DecryptionFailed())
    await cold.close()
  })

  const made = async ({ tenantId, purpose = 'vendor-credential' }: { tenantId: string; purpose?: string }) =>
    Buffer.from((await keyService(service.vault.kms, service.vault.keyArn).generate({ tenantId, purpose })).wrapped)
  const flipped = (bytes: Buffer): Buffer => {
    const changed = Buffer.from(bytes)
    changed[20] = (changed[20] ?? 0) ^ 1
    return changed
  }
})

describe('decrypting a secret', () => {
  it('writes an audit entry for each decryption attempt, and reveals nothing when it fails', async () => {
    const error = vi.spyOn(log, 'error')
    try {
      const own = await newTenant()
      const id = await connect(own, 'S3CR3T-planted')
      const entries = async () =>
        (
          await service.sql`select tenant_id, action, after from app.audit_log
                        where target_id = ${id} and action = 'vendor_account.opened'`
        ).map((row) => row['tenant_id'])
      for (let time = 1; time <= 3; time += 1) {
        expect(await opened(own, id)).toBe('S3CR3T-planted')
        expect(await entries()).toEqual(Array(time).fill(own.id))
      }
      const { sealed_secret: text } = await rowOf(id)
      await putText(id, Buffer.concat([text, Buffer.of(0)]))
      await expectPlainFailure(own, id)
      expect(await entries()).toHaveLength(4)
      const lines = error.mock.calls.map((call) => JSON.stringify(call))
      expect(lines.some((line) => line.includes('DecryptionFailed'))).toBe(true)
      for (const line of lines) {
        expect(line).not.toContain('S3CR3T')
        expect(line).not.toContain(text.toString('hex', 29, 45))
        expect(line).not.toContain(text.toString('base64').slice(40, 60))
      }
    } finally {
      error.mockRestore()
    }
  })

  it('hands a ciphertext out only after its audit entry was committed, also to a caller that rolls back', async () => {
    const own = await newTenant()
    const id = await connect(own, 'a secret')
    const { database } = service.runtime.vault
    const given: unknown[] = []
    const rolledBack = (entry: string | null) =>
      database
        .write(async (sql) => {
          const scoped = await proofFor(service.sql, own.id).enter(sql)
          given.push(await readEncryptedSecret(scoped, id, entry ?? (await recordOpening(scoped, id, OPENING)) ?? ''))
          throw new Error('rolled back')
        })
        .catch(() => {})
    const entries = () => service.sql`
      select from app.audit_log where target_id = ${id} and action = 'vendor_account.opened'`
    await rolledBack(null)
    expect(given).toEqual([null])
    expect(await entries()).toHaveLength(0)
    await rolledBack(
      await database.write(async (sql) => recordOpening(await proofFor(service.sql, own.id).enter(sql), id, OPENING)),
    )
    expect(given[1]).toMatchObject({ bytes: expect.any(Uint8Array) })
    expect(await entries()).toHaveLength(1)
  })

  it('decrypts no secret outside the scope of its tenant', async () => {
    const [own, other] = [await newTenant(), await newTenant()]
    const id = await connect(own, 'a secret')
    const { vault } = service.runtime
    const before = service.vault.faults.counts().kms
    const by = (tenantId: string) =>
      openVendorCredential(vault, { proof: proofFor(service.sql, tenantId), tenantId, accountId: id }, OPENING)
    expect(await by(other.id)).toBeNull()
    expect(await by(randomUUID())).toBeNull()
    await expect(by('*')).rejects.toMatchObject({ code: '22P02' })
    await expect(by('')).rejects.toMatchObject({ code: '22P02' })
    const unscoped = await vault.database.write((sql) =>
      // The transaction has no tenant.
      recordOpening(sql as Parameters<typeof recordOpening>[0], id, OPENING),
    )
    expect(unscoped).toBeNull()
    expect(service.vault.faults.counts().kms).toBe(before)
    expect(
      await service.sql`select from app.audit_log where target_id = ${id} and action = 'vendor_account.opened'`,
    ).toHaveLength(0)
    const app = connectTo(service.database.appUrl)
    const byApp = app.write(async (sql) => recordOpening(await proofFor(service.sql, own.id).enter(sql), id, OPENING))
    await expect(byApp).rejects.toMatchObject({ code: '42501' })
    await app.close()
  })
})
