import * as v from 'valibot'
import { Assertion } from '#shared/factor/credential.ts'
import { SentRecoveryCode, SentTotpCode } from '#shared/factor/code.ts'
import { fault } from '#shared/schema/fault.ts'
import { Id } from '#shared/schema/id.ts'
import { text } from '#shared/schema/text.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'

const METHODS = ['totp', 'passkey', 'recovery_code'] as const

/** By what a user may prove a second factor. */
export type FactorMethod = (typeof METHODS)[number]

export const FactorMethods = v.pipe(v.array(v.picklist(METHODS)), v.examples([['totp', 'recovery_code']]))

/** The secret of an open sign-in. It is no session token. */
export const SignInToken = v.pipe(
  v.string(),
  v.maxLength(1000),
  v.examples(['b7Vn2kXw9QmD4sRz8TfY1hLc6GpJ3aUe5NoKiWxZtEq']),
)

/** What a sign-in returns while it owes a second factor. */
export const OwedFactor = v.object({
  second_factor: v.object({
    sign_in_token: SignInToken,
    expires_at: Timestamp,
    methods: FactorMethods,
  }),
})

/** The proofs of a second factor that a request may carry. */
export const ProofEntries = {
  code: v.optional(SentTotpCode),
  recovery_code: v.optional(SentRecoveryCode),
  credential: v.optional(Assertion),
}

/** Requires exactly one of the keys. */
export const exactlyOne = <Body extends object>(keys: readonly (keyof Body & string)[]) =>
  v.check<Body, ReturnType<typeof fault>>(
    (body) => keys.filter((key) => body[key] !== undefined).length === 1,
    fault({ code: 'wrong-format', format: `an object with exactly one of ${keys.join(', ')}` }),
  )

/** Returns the key of the proof that a body has. */
export function sentProof<Key extends string>(
  keys: readonly Key[],
  body: Readonly<Partial<Record<Key, unknown>>>,
): Key {
  const sent = keys.find((key) => body[key] !== undefined)
  if (sent === undefined) throw new Error('a body without a proof')
  return sent
}

export const FactorName = text({ max: 60, example: 'Authenticator app' })

/** A second factor of the user. `usable` is false for a passkey of another address of the front end. */
export const Factor = v.pipe(
  v.object({
    id: Id,
    kind: v.picklist(['totp', 'passkey']),
    name: FactorName,
    created_at: Timestamp,
    last_used_at: v.nullable(Timestamp),
    synced: v.boolean(),
    usable: v.boolean(),
  }),
  v.title('Factor'),
)

export type Factor = Readonly<v.InferOutput<typeof Factor>>
