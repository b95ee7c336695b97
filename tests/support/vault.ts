import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KMSClient } from '@aws-sdk/client-kms'
import type { Authorize } from '#infra/local/aws/aws-endpoints.ts'
import { createFaults, type Faults } from '#infra/local/faults.ts'
import { startKms } from '#infra/local/aws/kms.ts'
import { startVendors } from '#infra/local/vendors/vendors.ts'
import { keyService, kmsClient } from '#shared/vault/kms.ts'
import { createVault, type Vault } from '#shared/vault/vault.ts'
import { connectTo } from './access.ts'
import type { TestDatabase } from './database.ts'

/** The local KMS and vendors, and vaults that use them. */
export interface TestVault {
  readonly faults: Faults
  /** VENDOR_URLS for the local vendors. */
  readonly vendorUrls: string
  /** The key that wraps data keys. */
  readonly keyArn: string
  readonly kms: KMSClient
  readonly kmsUrl: string
  /** Opens another vault with its own cache, like another instance of a Lambda. */
  openVault(database: TestDatabase): Vault
  close(): Promise<void>
}

/** Without `authorize`, anybody may use any key. */
export async function startTestVault({ authorize }: { authorize?: Authorize } = {}): Promise<TestVault> {
  const stateDir = await mkdtemp(join(tmpdir(), 'tenantry-vault-'))
  const faults = createFaults()
  const [server, vendors] = await Promise.all([startKms({ stateDir, faults, authorize }), startVendors({ faults })])
  const keyArn = await server.keyArn('alias/tenantry-vault')
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  const kms = kmsClient({ endpoint: server.url, region: 'us-east-1', credentials })
  return {
    faults,
    vendorUrls: JSON.stringify(vendors.urls),
    keyArn,
    kms,
    kmsUrl: server.url,
    openVault: (database) =>
      createVault(connectTo(database.vaultUrl, { connections: 4, prepare: true }), keyService(kms, keyArn)),
    close: async () => {
      faults.close()
      kms.destroy()
      await Promise.all([server.close(), vendors.close()])
      await rm(stateDir, { recursive: true, force: true })
    },
  }
}
