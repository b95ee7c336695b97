// Works on a tenant's data keys in its own process, for tests that kill it. Sends the outcome as its only message.
import { KMSClient } from '@aws-sdk/client-kms'
import { rewrapDataKeys, rotateDataKey, shredTenant } from '#functions/workers/operate/data-keys.ts'
import { proofOfOperator } from '#functions/workers/operate/queries.ts'
import { keyService } from '#shared/vault/kms.ts'
import { createVault } from '#shared/vault/vault.ts'
import { connectTo } from './access.ts'
import { INSTRUCTION } from './operator.ts'

const { command, tenantId, operatorUrl, vaultUrl, kmsUrl, keyArn, toKeyArn } = JSON.parse(process.env['KEY_WORK'] ?? '')
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
const kms = new KMSClient({ endpoint: kmsUrl, region: 'us-east-1', credentials })
const vault = createVault(connectTo(vaultUrl), keyService(kms, keyArn))
const proof = proofOfOperator(connectTo(operatorUrl).sql, tenantId, 'a test')
const work = { ...INSTRUCTION, vault, tenantId, proof, shouldStop: () => false }
await vault.database.sql`select 1`
process.send?.('begun')
const done = {
  rotate: () => rotateDataKey(work),
  rewrap: () => rewrapDataKeys(work, toKeyArn),
  shred: () => shredTenant(work),
}
const outcome = await done[command as keyof typeof done]()
process.send?.(outcome, () => process.exit(0))
