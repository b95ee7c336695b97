import { afterEach, describe, expect, it } from 'vitest'
import { verifyDueAccounts } from '#functions/workers/verify-vendors/verify.ts'
import { vendorAccounts } from '#infra/local/vendors/vendors.ts'
import { useService } from '#tests/support/test.ts'

const [ACCOUNT] = vendorAccounts
const service = useService()
afterEach(async () => {
  for (const part of ['kms', 'vendor']) await service.vault.faults.set({ part, mode: 'ok' })
})

/** Connects an account of a new tenant while its vendor is down, so that the job of its check is due. */
async function waiting(): Promise<{ tenantId: string; id: string }> {
  const { id: tenantId, admin } = await service.newTenant('admin')
  await service.vault.faults.set({ part: 'vendor', mode: 'refuse' })
  const { status, body } = await service.request('POST /v1/vendor-accounts', {
    token: admin.token,
    body: { vendor: ACCOUNT?.code, account_number: ACCOUNT?.account_number, secret: ACCOUNT?.secret },
  })
  expect([status, body.status]).toEqual([200, 'unverified'])
  await service.vault.faults.set({ part: 'vendor', mode: 'ok' })
  return { tenantId, id: body.id }
}

async function verifyDue(worker = service.worker): Promise<number> {
  await service.sql`update app.jobs set run_at = now() where kind = 'verify-vendor' and completed_at is null`
  return verifyDueAccounts(worker, () => false)
}

const rowOf = (id: string) => service.sql`select * from app.vendor_accounts where id = ${id}`
const jobOf = async (id: string) => {
  const [job] = await service.sql`
    select attempts, completed_at is not null as completed, dead_at is not null as dead, last_error from app.jobs
     where payload->>'account_id' = ${id}`
  return { ...job }
}

describe('verifyDueAccounts', () => {
  it.each(['suspended', 'cancelled'])(
    'decrypts nothing and calls no vendor for a tenant that is %s',
    async (status) => {
      const { tenantId, id } = await waiting()
      const before = await rowOf(id)
      await service.sql`update app.tenants set status = ${status} where id = ${tenantId}`
      const calls = service.vault.faults.counts().vendor
      expect(await verifyDue()).toBe(0)
      expect(service.vault.faults.counts().vendor).toBe(calls)
      expect(await rowOf(id)).toEqual(before)
      const opened = await service.sql`
        select from app.audit_log where target_id = ${id} and action = 'vendor_account.opened'`
      expect(opened).toHaveLength(0)
      expect(await jobOf(id)).toMatchObject({ completed: true, dead: false })
    },
  )

  it('retries while KMS is down and leaves the account unchanged', async () => {
    const { id } = await waiting()
    const before = await rowOf(id)
    const vault = service.vault.openVault(service.database)
    await service.vault.faults.set({ part: 'kms', mode: 'refuse' })
    await verifyDue({ ...service.worker, vault })
    await vault.close()
    expect(await rowOf(id)).toEqual(before)
    expect(await jobOf(id)).toEqual({ attempts: 1, completed: false, dead: false, last_error: 'KeyServiceUnavailable' })
    await service.vault.faults.set({ part: 'kms', mode: 'ok' })
    expect(await verifyDue()).toBe(1)
    expect(await rowOf(id)).toMatchObject([{ status: 'verified' }])
  })

  it('dead-letters a secret that does not decrypt', async () => {
    const { id } = await waiting()
    await service.sql`update app.vendor_accounts set sealed_secret = sealed_secret || '\\x00' where id = ${id}`
    expect(await verifyDue()).toBe(0)
    expect(await jobOf(id)).toEqual({ attempts: 1, completed: false, dead: true, last_error: 'DecryptionFailed' })
  })
})
