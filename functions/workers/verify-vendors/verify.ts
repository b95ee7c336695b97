import { recordAudit } from '#shared/audit/record-audit.ts'
import { drain, UnreadableJob } from '#shared/queue/drain.ts'
import type { JobPayload } from '#shared/queue/kinds.ts'
import { type LeasedJob, proofOfLease } from '#shared/queue/queries.ts'
import { DecryptionFailed } from '#shared/vault/envelope.ts'
import { askVendor, REFUSED } from '#shared/suppliers/ask-vendor.ts'
import { openVendorCredential } from '#shared/suppliers/open-credential.ts'
import { findVendor, recordCheck } from '#shared/suppliers/vendor-queries.ts'
import type { Runtime } from './worker.ts'
import { tenantIsOpen } from './queries.ts'

const CONCURRENCY = 5
const LEASE_SECONDS = 60
// Enough for a vendor that is down for a day, with at most half an hour between attempts.
const ATTEMPTS = 60

/** The vendor did not respond. The job is retried. */
class VendorUnreachable extends Error {
  override name = 'VendorUnreachable'
}

/**
 * Verifies the credentials whose vendor did not respond when they were connected, until none is due or `shouldStop` returns
 * true. Skips tenants that have been suspended or cancelled: their members can verify an account once the tenant is open
 * again. Returns how many vendors responded.
 */
export const verifyDueAccounts = (runtime: Runtime, shouldStop: () => boolean): Promise<number> =>
  drain(
    runtime.database,
    {
      kind: 'verify-vendor',
      concurrency: CONCURRENCY,
      leaseSeconds: LEASE_SECONDS,
      attempts: ATTEMPTS,
      run: (job) => verify(runtime, job),
      isFinal: (error) => error instanceof DecryptionFailed,
    },
    shouldStop,
  )

async function verify(
  { config, database, vault }: Runtime,
  job: LeasedJob<JobPayload<'verify-vendor'>>,
): Promise<boolean> {
  const {
    tenant_id: tenantId,
    payload: { account_id: accountId },
  } = job
  if (tenantId === null) throw new UnreadableJob('a vendor account needs a tenant')
  const proof = proofOfLease(job)
  if (!(await proof.read(database, tenantIsOpen))) return false
  const opening = { reason: 'verify', requestId: job.id } as const
  const credential = await openVendorCredential(vault, { proof, tenantId, accountId }, opening)
  if (credential === null) return false
  const vendor = await proof.read(vault.database, (sql) => findVendor(sql, credential.vendor))
  const lastError = await askVendor(config, vendor, credential)
  const hasResponded = lastError === null || lastError === REFUSED
  await proof.write(vault.database, async (sql) => {
    const recorded = await recordCheck(sql, { accountId, secretVersion: credential.secretVersion, lastError })
    if (!recorded || !hasResponded) return
    await recordAudit(
      { sql, tenantId, requestId: job.id },
      {
        action: lastError === null ? 'vendor_account.verified' : 'vendor_account.refused',
        targetId: accountId,
        after: { secret_version: credential.secretVersion },
      },
    )
  })
  if (!hasResponded) throw new VendorUnreachable(lastError)
  return true
}
