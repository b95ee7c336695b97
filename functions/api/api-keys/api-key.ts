import * as v from 'valibot'
import { API_KEY_STATUSES } from '#shared/identity/api-key-status.ts'
import { PERMISSIONS } from '#shared/identity/permissions.ts'
import { User } from '#shared/identity/user.ts'
import { fault } from '#shared/schema/fault.ts'
import { Id } from '#shared/schema/id.ts'
import { text } from '#shared/schema/text.ts'
import { sentTime, Timestamp } from '#shared/schema/timestamp.ts'

/** A former member whom the tenant no longer knows is null. */
const Person = v.nullable(v.object({ id: Id, email: User.entries.email, full_name: User.entries.full_name }))

export const KeyName = text({ max: 60, example: 'Nightly export' })

const MOST_PERMISSIONS = 30

/** What a new key may do. The database refuses what its creator lacks, and what no key may hold, with one answer. */
export const NewPermissions = v.pipe(
  v.array(v.string()),
  v.minLength(1, fault({ code: 'required' })),
  v.maxLength(MOST_PERMISSIONS, fault({ code: 'too-many', max: MOST_PERMISSIONS, items: 'permissions' })),
  v.examples([['catalog.read', 'deal.write']]),
)

/** A time, as a client sends it. */
export const SentTime = v.pipe(
  v.string(),
  v.metadata({ format: 'date-time' }),
  v.examples(['2099-11-02T09:30:00Z']),
  sentTime(fault({ code: 'wrong-format', format: 'a time by RFC 3339' })),
)

export const Permissions = v.pipe(v.array(v.picklist(PERMISSIONS)), v.examples([['catalog.read', 'deal.write']]))

const KEY = {
  id: Id,
  name: v.pipe(v.string(), v.examples(['Nightly export'])),
  hint: v.pipe(v.string(), v.description('The last four characters of the key.'), v.examples(['TxFs'])),
  permissions: Permissions,
  status: v.picklist(API_KEY_STATUSES),
  created_by: Person,
  created_at: Timestamp,
  expires_at: Timestamp,
  last_used_at: v.pipe(v.nullable(Timestamp), v.description('To the minute. Null: never.')),
  rotated_at: v.nullable(Timestamp),
  previous_expires_at: v.pipe(
    v.nullable(Timestamp),
    v.description('Until when the key before the last rotation is valid too.'),
  ),
  revoked_at: v.nullable(Timestamp),
  revoked_by: v.pipe(v.nullable(Person), v.description('Null: an operator revoked it, or somebody who had the key.')),
}

/** An API key, as the API shows it: never the key itself. */
export const ApiKey = v.pipe(v.object(KEY), v.title('ApiKey'))

export type ApiKey = Readonly<v.InferOutput<typeof ApiKey>>

/** The only answer that has the key. */
export const ShownApiKey = v.pipe(
  v.object({
    ...KEY,
    key: v.pipe(
      v.string(),
      v.description('Nothing shows it again.'),
      v.examples(['tnk_MH08w6fdetHZNKaUgOuPboxFf6SkRLxkhf8d5WEUL031gTxFs']),
    ),
  }),
  v.title('ShownApiKey'),
)
