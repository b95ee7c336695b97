import type { Config } from '#shared/base/config.ts'
import { perNetwork } from '#shared/http/limit-by.ts'
import { rateLimited } from '#shared/http/rate-limited.ts'
import { countMetric } from '#shared/base/metrics.ts'
import { type Problem, unauthorizedService } from '#shared/base/problem.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'
import type { ClientInfo } from '#shared/schema/client.ts'

const limitOf = (client: ClientInfo, { login }: Config, pepper: string) =>
  perNetwork('service-key-ip', { client, pepper }, { limit: login.serviceKeyLimit, windowSeconds: login.windowSeconds })

/**
 * Returns the refusal of a wrong key: a 401, or a 429 for a network that sent too many. Only wrong keys are counted, so that a right
 * one costs nothing and nobody shuts a service out.
 */
export async function wrongKey({
  client,
  runtime,
}: {
  client: ClientInfo
  runtime: RuntimeFor<'cache' | 'pepper'>
}): Promise<Problem> {
  const { config, limiter, pepper } = runtime
  const refusal = await limiter.attempt([limitOf(client, config, pepper)])
  if (refusal !== null) return rateLimited(refusal)
  countMetric('Unauthorized', 'unknown')
  return unauthorizedService('no valid service key has this name and secret')
}
