import type { Sql } from '#shared/db/connect.ts'
import type { ClientInfo } from '#shared/schema/client.ts'
import { limitOn } from '#shared/http/limit-by.ts'
import { noContent, type Reply } from '#shared/http/reply.ts'
import { log } from '#shared/base/log.ts'
import type { JobPayload } from '#shared/queue/kinds.ts'
import { enqueue, rehearseEnqueue } from '#shared/queue/queries.ts'
import { clientNetwork } from '#shared/rate-limit/limit.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'

const WINDOW_SECONDS = 3600

/**
 * Enqueues a mail when it is `wanted` and neither the client nor the recipient is over the limit. Otherwise it does the same
 * work and enqueues nothing, so that response and timing are identical in every case. Logs one line, with the limit that
 * dropped the mail. Returns 204.
 */
export async function requestMail(
  { client, requestId, runtime }: { client: ClientInfo; requestId: string; runtime: RuntimeFor<'pepper' | 'cache'> },
  {
    route,
    recipient,
    payload,
    wanted,
    write,
  }: {
    route: 'forgot' | 'verify'
    recipient: string
    payload: JobPayload<'mail'>
    wanted: boolean
    /** Runs a statement as the endpoint's access allows. */
    write: (work: (sql: Sql) => Promise<void>) => Promise<void>
  },
): Promise<Reply<null>> {
  const { pepper, limiter, config } = runtime
  const limit = (by: 'ip' | 'email', value: string, most: number) =>
    limitOn(`${route}-${by}`, { pepper }, value, { limit: most, windowSeconds: WINDOW_SECONDS })
  const refusal = await limiter.attemptInConstantSteps([
    limit('ip', clientNetwork(client.ip), config.forgot.ipLimit),
    limit('email', recipient, config.forgot.emailLimit),
  ])
  const add = refusal === null && wanted ? enqueue : rehearseEnqueue
  await write(async (sql) => void (await add(sql, 'mail', payload)))
  log.info('mail requested', { request_id: requestId, route, dropped_by: refusal?.limit.name ?? null })
  return noContent()
}
