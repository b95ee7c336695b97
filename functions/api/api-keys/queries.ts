import type { CallByTicket } from '#shared/db/calls.ts'
import { sourceValue } from '#shared/db/composite.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { API_KEY_STATUSES, type ApiKeyStatus } from '#shared/identity/api-key-status.ts'
import type { Ticket } from '#shared/identity/ticket.ts'
import type { RequestSource } from '#shared/schema/client.ts'
import { END, type Key, type ListRow } from '#shared/schema/page.ts'
import type { ApiKey } from './api-key.ts'

/** Returns keys of the tenant, newest first: up to `limit` + 1 of them. */
export async function searchKeys(
  sql: TenantTransaction,
  search: { statuses: readonly ApiKeyStatus[]; createdBy: string | null; before: Key | null; limit: number },
): Promise<ListRow<ApiKey>[]> {
  const [createdAt, id] = search.before ?? END
  return readKeys(sql, { ...search, createdAt, id: null, before: id, limit: search.limit + 1 })
}

/** Returns a key of the tenant, or null. */
export async function findKey(sql: TenantTransaction, id: string): Promise<ApiKey | null> {
  const [createdAt, before] = END
  const every = { statuses: API_KEY_STATUSES, createdBy: null, limit: 1 }
  const [row] = await readKeys(sql, { ...every, createdAt, id, before })
  return row?.item ?? null
}

interface Wanted {
  readonly statuses: readonly ApiKeyStatus[]
  readonly createdBy: string | null
  readonly createdAt: string
  readonly before: string
  readonly id: string | null
  readonly limit: number
}

// A tenant has few keys, so one statement that filters all of them serves every search.
async function readKeys(sql: TenantTransaction, wanted: Wanted): Promise<ListRow<ApiKey>[]> {
  const rows = await sql<ApiKey & { readonly sort_key: string }>`
    select k.id, k.name, k.hint, s.status, k.created_at, k.expires_at, k.last_used_at, k.rotated_at,
           case when k.previous_expires_at > now() then k.previous_expires_at end as previous_expires_at, k.revoked_at,
           (select json_agg(p.permission order by p.permission) from app.api_key_permissions p
             where p.tenant_id = k.tenant_id and p.api_key_id = k.id) as permissions,
           case when c.id is not null then json_build_object('id', c.id, 'email', c.email, 'full_name', c.full_name) end as created_by,
           case when r.id is not null then json_build_object('id', r.id, 'email', r.email, 'full_name', r.full_name) end as revoked_by,
           to_json(k.created_at) as sort_key
      from app.api_keys k
     cross join lateral (
       select case when k.revoked_at is not null then 'revoked' when k.expires_at <= now() then 'expired' else 'live' end as status) s
      left join app.users c on c.id = k.created_by
      left join app.users r on r.id = k.revoked_by
     where k.tenant_id = (select app.current_tenant())
       and s.status = any (string_to_array(${wanted.statuses.join()}, ','))
       and (${wanted.createdBy}::uuid is null or k.created_by = ${wanted.createdBy}::uuid)
       and (${wanted.id}::uuid is null or k.id = ${wanted.id}::uuid)
       and (k.created_at, k.id) < (${wanted.createdAt}::text::timestamptz, ${wanted.before}::uuid)
     order by k.created_at desc, k.id desc
     limit ${wanted.limit}`
  return rows.map(({ sort_key, ...item }) => ({ item, key: [sort_key, item.id] }))
}

// Each function below enters the tenant of the ticket, locks and checks the session and its step-up, and records the change. It rejects
// with the PostgresError TN401, TN403 or TN428 when the session, its permission or its step-up is gone.

/** What a change of keys has in common. */
export interface ByTicket {
  readonly call: CallByTicket
  readonly ticket: Ticket
  readonly source: Required<RequestSource>
  /** The greatest age in seconds of the session's last step-up. */
  readonly stepUpSeconds: number
}

export type KeyRefusal =
  | 'not-found'
  | 'key-ended'
  | 'key-rotated'
  | 'key-exists'
  | 'key-limit'
  | 'expires-at'
  | 'permission'

interface NewKey {
  readonly name: string
  readonly permissions: readonly string[]
  readonly hash: Buffer
  readonly hint: string
  /** Null: after `ttlSeconds`. */
  readonly expiresAt: string | null
  readonly ttlSeconds: number
  readonly maxSeconds: number
  readonly mostKeys: number
}

type Created =
  | { readonly refusal: null; readonly id: string }
  | { readonly refusal: KeyRefusal; readonly place: number | null }

/** Stores a key of the tenant in the name of the ticket's user. Returns its id, or why not: `place` is that of the refused permission. */
export async function createKey({ call, ticket, source, stepUpSeconds }: ByTicket, key: NewKey): Promise<Created> {
  const [row] = await ticket.present(
    (bytes) => call<Created>`
      select * from app.create_api_key(
        ${bytes}, ${key.name}, ${JSON.stringify(key.permissions)}::text::jsonb, ${key.hash}, ${key.hint},
        ${key.expiresAt}::text::timestamptz, ${key.ttlSeconds}, ${key.maxSeconds}, ${key.mostKeys},
        ${sourceValue(source)}::app.source, ${stepUpSeconds})`,
  )
  if (row === undefined) throw new Error('app.create_api_key returned no row')
  return row
}

interface Refused {
  readonly refusal: KeyRefusal | null
}

/** Returns why a key of the tenant was not renamed, or null. */
export async function renameKey(
  { call, ticket, source, stepUpSeconds }: ByTicket,
  { id, name }: { id: string; name: string },
): Promise<KeyRefusal | null> {
  const [row] = await ticket.present(
    (bytes) => call<Refused>`
      select app.rename_api_key(${bytes}, ${id}, ${name}, ${sourceValue(source)}::app.source, ${stepUpSeconds}) as refusal`,
  )
  return row?.refusal ?? null
}

/** Gives a key of the tenant a new secret. Returns why not, or null. */
export async function rotateKey(
  { call, ticket, source, stepUpSeconds }: ByTicket,
  key: Pick<NewKey, 'hash' | 'hint' | 'expiresAt' | 'maxSeconds'> & {
    readonly id: string
    readonly overlapSeconds: number
    /** When the secret that is replaced was made. Null: whichever it is. */
    readonly replaces: string | null
  },
): Promise<KeyRefusal | null> {
  const [row] = await ticket.present(
    (bytes) => call<Refused>`
      select app.rotate_api_key(
        ${bytes}, ${key.id}, ${key.hash}, ${key.hint}, ${key.overlapSeconds}, ${key.expiresAt}::text::timestamptz, ${key.maxSeconds},
        ${sourceValue(source)}::app.source, ${stepUpSeconds}, ${key.replaces}::text::timestamptz) as refusal`,
  )
  return row?.refusal ?? null
}

/** Revokes a key of the tenant. Returns whether there is one. */
export async function revokeKey({ call, ticket, source, stepUpSeconds }: ByTicket, id: string): Promise<boolean> {
  const [row] = await ticket.present(
    (bytes) => call<{ found: boolean }>`
      select app.revoke_api_key(${bytes}, ${id}, ${sourceValue(source)}::app.source, ${stepUpSeconds}) as found`,
  )
  return row?.found ?? false
}
