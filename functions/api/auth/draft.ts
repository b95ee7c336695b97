import * as v from 'valibot'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'
import { factorCodeHashes } from '#shared/factor/code.ts'
import { seal, unseal } from '#shared/factor/factor-key.ts'
import { otpauthUri } from '#shared/factor/totp.ts'
import type { SessionPrincipal } from '#shared/identity/session.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'
import { keyIdOfEnvelope } from '#shared/vault/envelope.ts'
import type { DraftRow } from './factor-queries.ts'
import { withFactorKey } from './proven-code.ts'

/** What a draft seals: the secret of an app, and recovery codes unless the user has some. */
const Contents = v.object({ secret: v.string(), codes: v.nullable(v.array(v.string())) })

type Contents = v.InferOutput<typeof Contents>

/** What a user sets up an authenticator app with. */
export const Draft = v.pipe(
  v.object({
    secret: v.pipe(v.string(), v.examples(['GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'])),
    uri: v.pipe(v.string(), v.examples(['otpauth://totp/Tenantry:ann%40acme.test?secret=GEZDGNBVGY3TQOJQ'])),
    recovery_codes: v.nullable(v.pipe(v.array(v.string()), v.examples([['7H3K-0QXW-9M2C-VB4T-5ZRE-1NPD']]))),
    expires_at: Timestamp,
  }),
  v.title('Draft'),
)

interface Context {
  readonly principal: SessionPrincipal
  readonly runtime: Pick<RuntimeFor<'factor-key' | 'pepper'>, 'config' | 'factorKey' | 'factorKeyPrevious' | 'pepper'>
}

const sealingOf = ({ principal }: Context, id: string) =>
  ({ userId: principal.user.id, rowId: id, field: 'draft' }) as const

export const sealDraft = (context: Context, id: string, contents: Contents): Buffer =>
  seal(context.runtime, JSON.stringify(contents), sealingOf(context, id)).sealed

/** Opens a draft. Throws a 503 when it does not open. */
export const openDraft = (context: Context, { id, sealed }: Pick<DraftRow, 'id' | 'sealed'>): Contents =>
  withFactorKey(() => {
    const text = unseal(context.runtime, { sealed, keyId: keyIdOfEnvelope(sealed) }, sealingOf(context, id))
    return v.parse(v.pipe(v.string(), v.parseJson(), Contents), text)
  })

/** Returns a draft as the API shows it. */
export const describeDraft = ({ principal, runtime }: Context, { secret, codes }: Contents, expiresAt: string) => ({
  secret,
  uri: otpauthUri(secret, { issuer: runtime.config.factor.issuer, email: principal.user.email }),
  recovery_codes: codes,
  expires_at: expiresAt,
})

/** Returns the hashes under which the codes of a draft are stored. */
export const codeHashes = ({ principal, runtime }: Context, codes: readonly string[]): Buffer[] =>
  codes.map((code) => factorCodeHashes({ pepper: runtime.pepper }, principal.user.id, code)[0])
