import * as v from 'valibot'
import { Id, Timestamp } from '#shared/schema/wire.ts'

const EXAMPLE = 'ann@acme.example'

/** An address that is kept, as the API shows it. */
export const Address = v.pipe(v.string(), v.examples([EXAMPLE]))

const Name = v.pipe(v.string(), v.examples(['Ann Archer']))

/** A user as the API shows it. Nothing else of the row ever leaves. */
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

/**
 * An email address as it is accepted: printable ASCII (Amazon SES accepts no other local part), at most 254 characters
 * (RFC 5321, 4.5.3.1.3). Compared without regard to case, here by `emailKey` and in the database by the collation.
 */
export const Email = v.pipe(
  v.string('must be a string'),
  v.maxLength(254, 'must have at most 254 characters'),
  v.regex(/^[!-?A-~]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]*\.)*[A-Za-z0-9-]*[A-Za-z0-9]$/, 'must be an email address'),
  v.examples([EXAMPLE]),
)

/** The form of an address under which attempts on it are counted: equal for addresses that are one account. */
export const normalizeEmail = (email: string): string => email.toLowerCase()
