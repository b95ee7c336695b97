import { limitValue, sourceValue } from '#shared/db/composite.ts'
import type { Call } from '#shared/db/connect.ts'
import type { CsrfSecret } from '#shared/identity/csrf-secret.ts'
import { type LiveSessionRow, sessionOf, userOf } from '#shared/identity/session-queries.ts'
import type { Session } from '#shared/identity/session.ts'
import type { User } from '#shared/identity/user.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import type { RequestSource } from '#shared/schema/client.ts'
import { deviceOf } from '#shared/schema/device.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'
import type { FactorMethod } from './factor.ts'
import type { CodeLimits, CodeProof, Refusable, ShownApp } from './factor-queries.ts'
import { type PasskeyProof, passkeyValue, type StoredPasskey } from './passkey-value.ts'

/** An open sign-in of which a try was taken, with what it took of the limits of sign-ins. */
export type LookedAt = Refusable & {
  readonly user_id: string
  readonly limit_key: Uint8Array | null
  readonly taken_in_cache: readonly string[]
} & (ShownApp | StoredPasskey | { readonly factor_id: null; readonly sealed_secret: null })

/** Takes a try of an open sign-in and returns it with the user's app or passkey, or the limit that refuses. Null: it is gone. */
export async function lookAtSignIn(
  call: Call,
  [token, previous]: TokenHashes,
  given: {
    readonly method: FactorMethod
    readonly codes: CodeLimits
    readonly networkLimit: Limit
    readonly credentialId: Buffer | null
  },
): Promise<LookedAt | null> {
  const { network, limit, windowSeconds, dayLimit } = given.codes
  const [row] = await call<LookedAt>`
    select * from app.look_at_sign_in(
      ${token}, ${previous}, ${given.method}, ${network}, ${limit}, ${windowSeconds}, ${dayLimit},
      ${limitValue(given.networkLimit)}::app.limit, ${given.credentialId})`
  return row ?? null
}

/** Finishes an open sign-in by one proof, and creates a session. Returns `refused` when nothing proves it. Null: it is gone. */
export async function finishSignIn(
  call: Call,
  [token, previous]: TokenHashes,
  given: {
    readonly code: CodeProof | null
    readonly recoveryCode: TokenHashes | null
    readonly passkey: PasskeyProof | null
    readonly tokenHash: Buffer
    readonly csrfSecret: CsrfSecret
    readonly network: Buffer
    readonly device: Buffer
    readonly userAgent: string | null
    readonly pendingSeconds: number
    readonly absoluteSeconds: number
    readonly maxPerUser: number
    readonly sentHashes: TokenHashes | null
    readonly source: RequestSource
  },
): Promise<{ session: Session; user: User } | 'refused' | null> {
  const { code } = given
  const [hash, previousHash] = given.recoveryCode ?? [null, null]
  const [sent, sentPrevious] = given.sentHashes ?? [null, null]
  const [row] = await given.csrfSecret.present(
    (csrf) => call<LiveSessionRow | { readonly session_id: null }>`
      select * from app.finish_sign_in(
        ${token}, ${previous}, ${code?.factorId ?? null}, ${code?.step ?? null}, ${code?.witness ?? null}, ${hash}, ${previousHash},
        ${given.tokenHash}, ${csrf}, ${given.network}, ${given.userAgent}, ${given.pendingSeconds}, ${given.absoluteSeconds},
        ${given.maxPerUser}, ${sourceValue(given.source)}::app.source, ${sent}, ${sentPrevious}, ${given.device},
        ${JSON.stringify(deviceOf(given.userAgent))}::text::jsonb, ${passkeyValue(given.passkey)}::app.passkey_proof)`,
  )
  if (row === undefined) return null
  return row.session_id === null ? 'refused' : { session: sessionOf(row), user: userOf(row) }
}
