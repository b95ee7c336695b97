import { enterTenant } from '#shared/db/scope.ts'
import { readSealedSecret } from '#shared/vault/queries.ts'
import type { Vault } from '#shared/vault/vault.ts'
import { secretContext } from '#shared/vendor/account.ts'

/** What a vendor is signed in to with. Keep it for the call that it is for, and never in a log, an error or a store. */
export interface OpenCredential {
  readonly vendor: string
  readonly accountNumber: string
  readonly secret: string
  readonly secretVersion: number
}

/** Who opens a credential, and for what; it stands in the tenant's audit log before the secret is open. */
export interface Opening {
  readonly reason: 'verify' | 'rotate' | 'catalog'
  readonly actorUserId: string | null
  readonly requestId: string | null
}

/**
 * A tenant's credential with a vendor, opened: the way by which whoever speaks to vendors for a tenant gets it. Null when
 * the account is not the tenant's, or its secret was erased. Throws DecryptionFailed when what is stored is not what was sealed
 * there, KeyServiceUnavailable when KMS does not answer.
 */
export async function openVendorCredential(
  vault: Vault,
  { tenantId, accountId }: { tenantId: string; accountId: string },
  opening: Opening,
): Promise<OpenCredential | null> {
  const sealed = await vault.database.transaction('read write', async (sql) =>
    readSealedSecret(await enterTenant(sql, tenantId), accountId, opening),
  )
  if (sealed === null) return null
  const { vendor, accountNumber, secretVersion } = sealed
  const secret = await vault.open(sealed, secretContext(tenantId, accountId, secretVersion))
  return { vendor, accountNumber, secret, secretVersion }
}
