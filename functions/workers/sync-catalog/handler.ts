import { setTimeout as pause } from 'node:timers/promises'
import type { Context } from 'aws-lambda'
import { metered } from '#shared/base/metrics.ts'
import { invokeLambda } from '#shared/queue/invoke-lambda.ts'
import { openRuntime } from '#shared/lambda/runtime.ts'
import { openVault } from '#shared/vault/open-vault.ts'
import { worker } from './worker.ts'
import { syncDueRuns } from './sync.ts'

// Longer than one try of a page.
const RESERVE_MS = 20_000

const runtime = openRuntime(worker, { openVault, invoke: invokeLambda })

/** Invoked when a run starts or continues, and by its schedule. */
export const handler = metered(async (_event: unknown, context: Context): Promise<{ ended: number }> => {
  const shouldStop = () => context.getRemainingTimeInMillis() < RESERVE_MS
  return { ended: await syncDueRuns(await runtime.open(), { shouldStop, pause }) }
})
