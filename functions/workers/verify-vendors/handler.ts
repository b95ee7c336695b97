import type { Context } from 'aws-lambda'
import { openVault } from '#shared/vault/open-vault.ts'
import { metered } from '#shared/base/metrics.ts'
import { invokeLambda } from '#shared/queue/invoke-lambda.ts'
import { openRuntime } from '#shared/lambda/runtime.ts'
import { worker } from './worker.ts'
import { verifyDueAccounts } from './verify.ts'

const RESERVE_MS = 15_000

const runtime = openRuntime(worker, { openVault, invoke: invokeLambda })

/** Its schedule invokes it every minute. */
export const handler = metered(async (_event: unknown, context: Context): Promise<{ answered: number }> => {
  const shouldStop = () => context.getRemainingTimeInMillis() < RESERVE_MS
  return { answered: await verifyDueAccounts(await runtime.open(), shouldStop) }
})
