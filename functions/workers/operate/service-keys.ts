import type { Sql } from '#shared/db/connect.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'
import type { ServiceScope } from '#shared/identity/service-key.ts'
import { hashToken, newToken } from '#shared/secret/secret.ts'
import type { Command } from './commands.ts'
import type { Instruction } from './instruction.ts'
import { Refused } from './refused.ts'
import * as queries from './service-key-queries.ts'

type ServiceKeyCommand = Extract<Command, { command: `${string}-service-key` | 'list-service-keys' }>

/** Runs a command on service keys. No tenant has them: the row of a key records the operator and the reason. */
export async function operateServiceKeys(
  { pepper }: RuntimeFor<'pepper'>,
  sql: Sql,
  command: ServiceKeyCommand,
  instruction: Instruction,
): Promise<Record<string, unknown>> {
  if (command.command === 'list-service-keys') return { keys: await queries.listKeys(sql) }
  const { name } = command
  const valid = await queries.lockValidKeys(sql, name)
  const issue = async (scopes: readonly ServiceScope[]) => {
    const key = newToken()
    await queries.insertKey(sql, { name, hash: hashToken(pepper, key), scopes, instruction })
    return { name, key, scopes }
  }
  if (command.command === 'create-service-key') {
    if (valid !== null) throw new Refused(`The service ${name} has a key. Use rotate-service-key`)
    return issue(command.scope)
  }
  if (valid === null) throw new Refused(`The service ${name} has no valid key`)
  if (command.command === 'revoke-service-key')
    return { name, revoked: await queries.revokeKeys(sql, name, instruction) }
  const previous = await queries.expireKeys(sql, name, command.overlap, instruction)
  return { ...(await issue(valid)), previous_valid_until: previous.toISOString() }
}
