import type { TenantProof } from '#shared/db/scope.ts'
import { readEncryptedSecret, recordOpening } from '#shared/vault/queries.ts'
import type { Vault } from '#shared/vault/vault.ts'
import { secretContext } from '#shared/suppliers/account.ts'

/** A decrypted credential. Use it for one piece of work with the vendor; never log it, store it or put it into an error. */
export interface OpenCredential {
  readonly vendor: string
  readonly accountNumber: string
  readonly secret: string
  readonly secretVersion: number
}

/** Who decrypts a credential, and why. The audit entry commits before the decryption. */
export interface Opening {
  readonly reason: 'verify' | 'rotate' | 'catalog'
  readonly requestId: string | null
  readonly clientRequestId?: string | null
}

/**
 * Decrypts the credential of a vendor account. Requires proof for its tenant. Returns null if the tenant has no such account or its secret was erased.
 * Throws DecryptionFailed if the ciphertext does not match its row, and KeyServiceUnavailable if KMS fails.
 */
export async function openVendorCredential(
  vault: Vault,
  { proof, tenantId, accountId }: { proof: TenantProof; tenantId: string; accountId: string },
  opening: Opening,
): Promise<OpenCredential | null> {
  const entry = await proof.write(vault.database, (sql) => recordOpening(sql, accountId, opening))
  if (entry === null) return null
  const encrypted = await proof.read(vault.database, (sql) => readEncryptedSecret(sql, accountId, entry))
  if (encrypted === null) return null
  const { vendor, accountNumber, secretVersion } = encrypted
  const secret = await vault.decrypt(encrypted, secretContext(tenantId, accountId, secretVersion))
  return { vendor, accountNumber, secret, secretVersion }
}
