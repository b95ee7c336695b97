import type { Database } from '#shared/db/connect.ts'
import { encryptedSecret, type EncryptedVendorSecret, type SecretRow } from '#shared/vault/queries.ts'

/** A service that asks for a credential, and why. */
export interface Request {
  readonly tenantId: string
  readonly vendor: string
  readonly service: string
  readonly reason: string
  readonly requestId: string
}

/** A committed audit entry with its account, or the seconds after which the tenant may have another. */
type Recorded = { readonly entryId: string; readonly accountId: string } | { readonly retryAfterSeconds: number }

/** Commits the audit entry of an opening. Returns null if there is nothing to open: no open tenant, or no account with a secret. */
export async function recordOpening({ sql }: Database, request: Request): Promise<Recorded | null> {
  const { tenantId, vendor, service, reason, requestId } = request
  const [row] = await sql<{ entry_id: string | null; account_id: string | null; retry_after_seconds: number | null }>`
    select entry_id, account_id, retry_after_seconds
      from app.record_opening_for_service(${tenantId}, ${vendor}, ${service}, ${reason}, ${requestId})`
  const { entry_id: entryId = null, account_id: accountId = null, retry_after_seconds: seconds = null } = row ?? {}
  if (seconds !== null) return { retryAfterSeconds: seconds }
  return entryId === null || accountId === null ? null : { entryId, accountId }
}

/** Returns the encrypted secret for a committed audit entry of its opening. Returns null if it was erased in between. */
export async function readEncryptedSecret(
  { sql }: Database,
  { tenantId, accountId, entryId }: { tenantId: string; accountId: string; entryId: string },
): Promise<EncryptedVendorSecret | null> {
  const [row] = await sql<SecretRow>`
    select vendor, account_number, secret_version, sealed_secret, data_key_id, kms_key_arn, wrapped_key
      from app.open_secret_for_service(${tenantId}, ${accountId}, ${entryId})`
  return row === undefined ? null : encryptedSecret(row)
}
