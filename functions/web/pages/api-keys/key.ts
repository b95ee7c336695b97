import { notFound } from '#shared/base/problem.ts'
import type { Client, ReplyOf } from '#shared/client/client.ts'
import { type KeyPermission, mayKeysHold, PERMISSIONS } from '#shared/identity/permissions.ts'
import { shopPath } from '#web/http/addresses.ts'
import { choiceOf, optional } from '#web/http/query.ts'

export type ApiKey = ReplyOf<'GET /v1/api-keys/{id}'>
export type ShownKey = ReplyOf<'POST /v1/api-keys'>

/** The lifetimes that a person chooses from, in days. */
export const LIFETIMES_DAYS = [1, 7, 30, 90, 180, 365] as const
/** For how many seconds the present secret works after a rotation. */
export const OVERLAPS_SECONDS = [0, 3600, 86_400, 604_800] as const

export const DEFAULT_LIFETIME_DAYS = 90
export const DEFAULT_OVERLAP = '86400'

export const Lifetime = choiceOf(LIFETIMES_DAYS.map(String))
/** Empty: the key expires when it does now. */
export const NewLifetime = choiceOf(['', ...LIFETIMES_DAYS.map(String)])
export const Overlap = choiceOf(OVERLAPS_SECONDS.map(String))

/** Returns the time so many days from now, as the API takes it, or null for an empty choice. */
export const afterDays = (days: string): string | null =>
  days === '' ? null : new Date(Date.now() + Number(days) * 86_400_000).toISOString()

export const MAY_PREFIX = 'may-'

/** The permissions that API keys may hold. */
export const KEY_PERMISSIONS: readonly KeyPermission[] = PERMISSIONS.filter(mayKeysHold)

/** The check boxes of permissions, which are sent only when they are checked. No form sends `permissions`: refusals of them stand there. */
export const May = {
  ...Object.fromEntries(KEY_PERMISSIONS.map((permission) => [MAY_PREFIX + permission, optional] as const)),
  permissions: optional,
}

/** The permissions whose boxes are checked. */
export const chosenOf = (form: Readonly<Record<string, unknown>>): KeyPermission[] =>
  KEY_PERMISSIONS.filter((permission) => form[MAY_PREFIX + permission] === 'yes')

export const keysPath = (slug: string, page = ''): string => shopPath(slug, `/api-keys${page}`)

export const readKey = (call: Client['call'], id: string): Promise<ApiKey> =>
  call('GET /v1/api-keys/{id}', { params: { id } })

/** Returns a key that still works. Nothing can be changed at the others. */
export async function readLiveKey(call: Client['call'], id: string): Promise<ApiKey> {
  const key = await readKey(call, id)
  if (key.status !== 'live') throw notFound('the API key is revoked or has expired')
  return key
}

/** Says which secret a key has: another one after each rotation. */
export const secretOf = ({ rotated_at, created_at }: ApiKey): string => rotated_at ?? created_at
