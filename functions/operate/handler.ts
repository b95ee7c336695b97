import type { Context } from 'aws-lambda'
import * as v from 'valibot'
import { invokeLambda } from '#shared/runtime.ts'
import { processWorker } from '#shared/worker.ts'
import { Command, type Outcome } from './commands.ts'
import { operate } from './operate.ts'
import { job } from './job.ts'

const worker = processWorker(job)

/** Invoked by operators with their AWS credentials; no route leads here. */
export async function handler(event: unknown, context: Context): Promise<Outcome> {
  const parsed = v.safeParse(Command, event)
  if (!parsed.success) {
    return { invalid: parsed.issues.map((issue) => `${v.getDotPath(issue) ?? 'command'} ${issue.message}`).join('; ') }
  }
  const outcome = await operate(await worker.open(), parsed.output, context.awsRequestId)
  if ('done' in outcome) await invokeLambda('deliver-mail')
  return outcome
}
