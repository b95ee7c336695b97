import { hash } from 'node:crypto'
import type { Run } from '#shared/db/run.ts'
import { keyIdOf, seal, unseal, witnessOf } from '#shared/factor/factor-key.ts'
import type { FactorKey } from '#shared/secret/token-secrets.ts'

/** An authenticator app as it is stored. */
export interface SealedApp {
  readonly factor_id: string
  readonly key_id: string
  readonly sealed_secret: Uint8Array
}

/**
 * Seals an app of a user with the current factor key, if another one sealed it. The database takes the new seal only with the
 * witness under the other key. Returns whether the seal was replaced. Throws DecryptionFailed when no key opens the app.
 */
export async function resealApp(run: Run, keys: FactorKey, userId: string, app: SealedApp): Promise<boolean> {
  const { factor_id: factorId, key_id: previousId } = app
  if (previousId === keyIdOf(keys.factorKey)) return false
  const sealing = { userId, rowId: factorId, field: 'totp-secret' } as const
  const secret = unseal(keys, { sealed: app.sealed_secret, keyId: previousId }, sealing)
  const { sealed, keyId } = seal(keys, secret, sealing)
  const witnessHash = hash('sha256', witnessOf(keys, { factorId, keyId }), 'buffer')
  const [row] = await run<{ resealed: boolean }>`
    select app.reseal_factor(
      ${factorId}, ${witnessOf(keys, { factorId, keyId: previousId })}, ${sealed}, ${keyId}, ${witnessHash}) as resealed`
  return row?.resealed ?? false
}
