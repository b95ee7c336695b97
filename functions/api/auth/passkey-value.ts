import { composite } from '#shared/db/composite.ts'
import type { SentChallenge } from '#shared/factor/challenge.ts'
import type { Verified } from '#shared/factor/passkey.ts'

/** A passkey as the database keeps it. */
export interface StoredPasskey {
  readonly user_id: string
  readonly factor_id: string
  readonly key_id: string
  readonly public_key: Uint8Array
  readonly rp_id: string
  readonly sealed_secret: null
}

/** A verified assertion. Only code with the factor key can compute the witness. */
export interface PasskeyProof extends Verified {
  readonly factorId: string
  readonly witness: Buffer
  readonly rpId: string
  readonly challenge: SentChallenge
}

/** Returns a proof, for a parameter that a statement casts to app.passkey_proof. */
export const passkeyValue = (proof: PasskeyProof | null): string | null =>
  proof === null
    ? null
    : composite(
        proof.factorId,
        proof.witness,
        proof.rpId,
        proof.signCount,
        proof.backupEligible,
        proof.backedUp,
        proof.challenge.key,
        proof.challenge.expiresAt.toISOString(),
      )
