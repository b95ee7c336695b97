import type { Context } from 'aws-lambda'
import * as v from 'valibot'
import { type AuditEntry, recordAudit } from '#shared/audit/record-audit.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import type { Sql } from '#shared/db/connect.ts'
import { sentenceOf } from '#shared/schema/fault.ts'
import { text } from '#shared/schema/text.ts'
import { commandDigest, findCaller } from './caller.ts'
import { Command, type Outcome } from './commands.ts'

/** Who gave a command and why, and the id of the invocation. Every audit entry of the command has them. */
export interface Instruction {
  readonly operator: string
  readonly reason: string
  readonly requestId: string
}

/** A command, and who gave it. */
export interface Order {
  readonly command: Command
  readonly instruction: Instruction
}

const Event = v.looseObject(
  {
    reason: text({ max: 300, example: 'The owner left the company, ticket 4711' }),
    // The signed query string that names the caller.
    caller: v.string('must be a string'),
  },
  'must be given as npm run operate gives it',
)

const invalid = (issues: readonly v.BaseIssue<unknown>[]): Outcome => ({
  invalid: issues.map((issue) => `${v.getDotPath(issue) ?? 'command'} ${sentenceOf(issue)}`).join('; '),
})

/** Parses an invocation of the function. Returns the outcome if it is not valid, or AWS does not confirm who gives it. */
export async function receive(
  event: unknown,
  { functionName, invokedFunctionArn, awsRequestId }: Context,
): Promise<Outcome | Order> {
  const received = v.safeParse(Event, event)
  if (!received.success) return invalid(received.issues)
  const { reason, caller, ...rest } = received.output
  const parsed = v.safeParse(Command, rest)
  if (!parsed.success) return invalid(parsed.issues)
  const { caller: _, ...signed } = Object(event)
  const digest = commandDigest(functionName, signed)
  const operator = await findCaller(caller, { digest, accountId: invokedFunctionArn.split(':')[4] ?? '' })
  if (operator === null) return { refused: 'AWS does not confirm who gives this command. Run npm run operate again' }
  return { command: parsed.output, instruction: { operator, reason, requestId: awsRequestId } }
}

/** Appends an entry of a command to a tenant's audit log. */
export const recordCommand = (
  sql: Sql | TenantTransaction,
  tenantId: string,
  { operator, reason, requestId }: Instruction,
  entry: AuditEntry,
): Promise<void> => recordAudit({ sql, tenantId, requestId }, { ...entry, after: { ...entry.after, operator, reason } })
