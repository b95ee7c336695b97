import type { Config } from '#shared/base/config.ts'
import { factorCodeHashes } from '#shared/factor/code.ts'
import type { Assertion } from '#shared/factor/credential.ts'
import type { FactorKey, Pepper } from '#shared/secret/token-secrets.ts'
import type { LookedAt } from './open-sign-in-queries.ts'
import { provenCode } from './proven-code.ts'
import { provenPasskey } from './proven-passkey.ts'

/** The keys of the proofs that finish an open sign-in. */
export const PROOFS = ['code', 'recovery_code', 'credential'] as const

export const METHODS = { code: 'totp', recovery_code: 'recovery_code', credential: 'passkey' } as const

interface Sent {
  readonly sign_in_token: string
  readonly code?: string | undefined
  readonly recovery_code?: string | undefined
  readonly credential?: Assertion | undefined
}

/** Returns what proves the factor of an open sign-in, for the database. Null: it was not sent, or is refused. */
export async function signInProof(
  runtime: Pepper & FactorKey & { readonly config: Config },
  { sign_in_token: subject, code, recovery_code: recoveryCode, credential }: Sent,
  looked: LookedAt,
) {
  const factor = looked.factor_id === null ? null : looked
  const [app, passkey] = factor === null || factor.sealed_secret === null ? [null, factor] : [factor, null]
  return {
    code: code === undefined || app === null ? null : provenCode(runtime, code, looked.user_id, app),
    recoveryCode: recoveryCode === undefined ? null : factorCodeHashes(runtime, looked.user_id, recoveryCode),
    passkey:
      credential === undefined || passkey === null
        ? null
        : await provenPasskey(runtime, credential, passkey, { purpose: 'second-factor', subject }),
  }
}
