import type { Context } from 'aws-lambda'
import * as v from 'valibot'
import { metered } from '#shared/metrics.ts'
import { invokeLambda } from '#shared/queue/invoke-lambda.ts'
import { openVault } from '#shared/vault/open-vault.ts'
import { openRuntime } from '#shared/runtime.ts'
import { Command, isKeyCommand, type Outcome } from './commands.ts'
import { job } from './job.ts'
import { operate, operateKeys } from './operate.ts'

const RESERVE_MS = 10_000

const runtime = openRuntime(job, { openVault, invoke: invokeLambda })

/** Operators invoke this with their AWS credentials. No route reaches it. */
export const handler = metered(async (event: unknown, context: Context): Promise<Outcome> => {
  const parsed = v.safeParse(Command, event)
  if (!parsed.success) {
    return { invalid: parsed.issues.map((issue) => `${v.getDotPath(issue) ?? 'command'} ${issue.message}`).join('; ') }
  }
  const command = parsed.output
  const requestId = context.awsRequestId
  const opened = await runtime.open()
  if (isKeyCommand(command)) {
    const shouldStop = () => context.getRemainingTimeInMillis() < RESERVE_MS
    return operateKeys(opened, command, { vault: opened.vault, requestId, shouldStop })
  }
  return operate(opened, command, requestId)
})
