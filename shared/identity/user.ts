import * as v from 'valibot'
import { Address } from '#shared/schema/email.ts'
import { Language } from '#shared/schema/language.ts'
import { Id } from '#shared/schema/id.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'

const Name = v.pipe(v.string(), v.examples(['Ann Archer']))

/** A user as the API shows it. No other column of the row leaves the service. */
export const User = v.pipe(
  v.object({
    id: Id,
    email: Address,
    email_verified_at: v.nullable(Timestamp),
    full_name: v.nullable(Name),
    avatar_url: v.nullable(v.pipe(v.string(), v.examples(['https://images.example/ann.png']))),
  }),
  v.title('User'),
)

export type User = Readonly<v.InferOutput<typeof User>>

/** A user as the API shows it to them. Mails to them are in `language`. */
export const OwnUser = v.pipe(v.object({ ...User.entries, language: Language }), v.title('OwnUser'))

export type OwnUser = Readonly<v.InferOutput<typeof OwnUser>>
