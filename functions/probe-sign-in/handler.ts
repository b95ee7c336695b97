import { parseConfig } from '#shared/config.ts'
import { log } from '#shared/log.ts'
import { metered, recordMetric } from '#shared/metrics.ts'
import { readSecret } from '#shared/secret/secrets-manager.ts'
import { probeSignIn, ProbeUser } from './probe-sign-in.ts'

const { probe, secretIds } = parseConfig(process.env)

/** Its schedule invokes it every minute. Without an address of the API it does nothing. */
export const handler = metered(async (): Promise<void> => {
  if (probe.url === '') return
  const failed = await probeSignIn(probe.url, await readSecret(secretIds.probe, ProbeUser))
  recordMetric('ProbeSucceeded', failed === null ? 1 : 0)
  if (failed !== null) log.error('a sign-in through the public address failed', { ...failed })
})
