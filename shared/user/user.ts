import * as v from 'valibot'
import { Address } from '#shared/schema/email.ts'
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
