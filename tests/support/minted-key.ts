import type postgres from 'postgres'
import type { KeyPermission } from '#shared/identity/permissions.ts'
import { hintOf, newApiKey } from '#shared/secret/api-key.ts'
import { hashToken } from '#shared/secret/secret.ts'
import { PEPPER } from './settings.ts'

export interface MintedKey {
  readonly id: string
  readonly key: string
}

/** Inserts a live API key of a tenant as its route would, without the request. It may read deals by default. An owner of the tenant is its creator. */
export async function mintKey(
  admin: postgres.Sql,
  {
    tenant,
    permissions = ['deal.read'],
    name,
  }: { tenant: string; permissions?: readonly KeyPermission[]; name?: string },
): Promise<MintedKey> {
  const key = newApiKey()
  const [row] = await admin<{ id: string }[]>`
    insert into app.api_keys (tenant_id, name, key_hash, hint, created_by, expires_at)
    select ${tenant}, ${name ?? `Key ${hintOf(key)}`}, ${hashToken(PEPPER, key)}, ${hintOf(key)}, m.user_id, now() + interval '90 days'
      from app.memberships m where m.tenant_id = ${tenant} and m.role_id = 1 limit 1
    returning id`
  if (row === undefined) throw new Error(`no owner in ${tenant}`)
  for (const permission of permissions)
    await admin`insert into app.api_key_permissions values (${tenant}, ${row.id}, ${permission})`
  return { id: row.id, key }
}
