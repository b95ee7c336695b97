import { sourceValue } from '#shared/db/composite.ts'
import type { Sql } from '#shared/db/connect.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'
import type { Instruction } from './instruction.ts'

/** Returns the API keys of a tenant without their hashes, the newest first. */
export const keysOfTenant = (sql: Sql, tenantId: string): Promise<object[]> =>
  sql`select * from app.api_keys_of_tenant(${tenantId})`

/** Revokes a key. Returns its tenant, or null when no key with the id is unrevoked. */
export async function revokeKey(sql: Sql, id: string, instruction: Instruction): Promise<string | null> {
  const [row] = await sql<{ tenant_id: string | null }>`
    select app.end_api_key(${id}, ${sourceOf(instruction)}::app.source, ${toldBy(instruction)}::text::jsonb) as tenant_id`
  return row?.tenant_id ?? null
}

/** Revokes the key of a hash. Returns its id and tenant, or nothing when it is not live. */
export const revokeSentKey = (
  sql: Sql,
  [current, previous]: TokenHashes,
  instruction: Instruction,
): Promise<{ id: string; tenant_id: string }[]> =>
  sql<{ id: string; tenant_id: string }>`
    select id, tenant_id from app.revoke_sent_key(
      ${current}, ${previous}, ${sourceOf(instruction)}::app.source, ${toldBy(instruction)}::text::jsonb)`

const sourceOf = ({ requestId }: Instruction) => sourceValue({ requestId, clientRequestId: null, ipHash: null })

const toldBy = ({ operator, reason }: Instruction): string => JSON.stringify({ operator, reason })
