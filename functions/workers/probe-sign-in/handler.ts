import { parseConfig } from '#shared/base/config.ts'
import { log } from '#shared/base/log.ts'
import { metered, recordMetric } from '#shared/base/metrics.ts'
import { readSecret } from '#shared/secret/secrets-manager.ts'
import { probePages } from './probe-pages.ts'
import { probeSignIn, ProbeUser } from './probe-sign-in.ts'

const { probe, secretIds } = parseConfig(process.env)

/** Its schedule invokes it every minute. An address that the stage does not have is not probed. */
export const handler = metered(async (): Promise<void> => {
  await Promise.all([probe.url !== '' && signIn(probe.url), probe.webUrl !== '' && pages(probe.webUrl)])
})

async function signIn(url: string): Promise<void> {
  const failed = await probeSignIn(url, await readSecret(secretIds.probe, ProbeUser))
  recordMetric('ProbeSucceeded', failed === null ? 1 : 0)
  if (failed !== null) log.error('a sign-in through the public address failed', { ...failed })
}

async function pages(url: string): Promise<void> {
  const failed = await probePages(url)
  recordMetric('PagesProbeSucceeded', failed === null ? 1 : 0)
  if (failed !== null) log.error('a page through the public address failed', { ...failed })
}
