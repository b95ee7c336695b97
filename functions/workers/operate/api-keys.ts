import type { Sql } from '#shared/db/connect.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'
import { tokenHashes } from '#shared/secret/secret.ts'
import * as queries from './api-key-queries.ts'
import type { Command } from './commands.ts'
import type { Instruction } from './instruction.ts'
import { findTenant } from './queries.ts'
import { Refused } from './refused.ts'

type ApiKeyCommand = Extract<Command, { command: 'list-api-keys' | 'revoke-api-key' | 'revoke-leaked-keys' }>

/** Runs a command on the API keys of tenants. No outcome has a key. */
export async function operateApiKeys(
  runtime: RuntimeFor<'pepper'>,
  sql: Sql,
  command: ApiKeyCommand,
  instruction: Instruction,
): Promise<Record<string, unknown>> {
  if (command.command === 'list-api-keys') {
    const tenant = await findTenant(sql, command.slug)
    if (tenant === null) throw new Refused(`There is no tenant ${command.slug}`)
    return { tenant_id: tenant.id, slug: tenant.slug, keys: await queries.keysOfTenant(sql, tenant.id) }
  }
  if (command.command === 'revoke-api-key') {
    const tenantId = await queries.revokeKey(sql, command.id, instruction)
    if (tenantId === null) throw new Refused(`No API key with the id ${command.id} is live`)
    return { id: command.id, tenant_id: tenantId }
  }
  const revoked = []
  // In one order, so that two operators with the same file do not wait for each other.
  for (const key of command.keys.toSorted())
    revoked.push(...(await queries.revokeSentKey(sql, tokenHashes(runtime, key), instruction)))
  return { revoked, not_live: command.keys.length - revoked.length }
}
