// Works on the sync runs that are due in its own process, like an instance of the Lambda, for tests that measure its memory.
// Sends its greatest memory and its processor time as its only message.
import { KMSClient } from '@aws-sdk/client-kms'
import { syncDueRuns } from '#functions/workers/sync-catalog/sync.ts'
import { parseConfig } from '#shared/base/config.ts'
import { keyService } from '#shared/vault/kms.ts'
import { createVault } from '#shared/vault/vault.ts'
import { connectTo } from './access.ts'

const { workerUrl, vaultUrl, kmsUrl, keyArn, vendorUrls } = JSON.parse(process.env['SYNC_WORK'] ?? '')
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
const kms = new KMSClient({ endpoint: kmsUrl, region: 'us-east-1', credentials })
const vault = createVault(connectTo(vaultUrl), keyService(kms, keyArn))
const database = connectTo(workerUrl)
const config = parseConfig({ DATABASE_TLS: 'disable', VENDOR_URLS: vendorUrls })
const begun = performance.now()
const ended = await syncDueRuns(
  { config, vault, database },
  { shouldStop: () => false, pause: () => Promise.reject(new Error('the vendor failed')) },
)
const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage()
const cpuSeconds = (userCPUTime + systemCPUTime) / 1e6
process.send?.({ ended, seconds: (performance.now() - begun) / 1000, cpuSeconds, maxMib: maxRSS / 1024 }, () =>
  process.exit(0),
)
