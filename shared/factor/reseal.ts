import { hash } from 'node:crypto'
import type { Run } from '#shared/db/run.ts'
import { keyIdOf, seal, unseal, witnessOf } from '#shared/factor/factor-key.ts'
import type { FactorKey } from '#shared/secret/token-secrets.ts'

/** A factor as it is stored. A passkey has no secret. */
export interface SealedFactor {
  readonly factor_id: string
  readonly key_id: string
  readonly sealed_secret: Uint8Array | null
}

/**
 * Seals a factor of a user with the current factor key, if another one sealed it; of a passkey, it is the witness alone. The database
 * takes the new seal only with the witness under the other key. Returns whether the seal was replaced. Throws DecryptionFailed when
 * no key opens the factor.
 */
export async function resealFactor(run: Run, keys: FactorKey, userId: string, factor: SealedFactor): Promise<boolean> {
  const { factor_id: factorId, key_id: previousId, sealed_secret: sealedBefore } = factor
  const keyId = keyIdOf(keys.factorKey)
  if (previousId === keyId) return false
  const sealing = { userId, rowId: factorId, field: 'totp-secret' } as const
  const sealed =
    sealedBefore === null
      ? null
      : seal(keys, unseal(keys, { sealed: sealedBefore, keyId: previousId }, sealing), sealing).sealed
  const witnessHash = hash('sha256', witnessOf(keys, { factorId, keyId }), 'buffer')
  const [row] = await run<{ resealed: boolean }>`
    select app.reseal_factor(
      ${factorId}, ${witnessOf(keys, { factorId, keyId: previousId })}, ${sealed}, ${keyId}, ${witnessHash}) as resealed`
  return row?.resealed ?? false
}
