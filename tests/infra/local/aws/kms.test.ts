import { statSync } from 'node:fs'
import { join } from 'node:path'
import {
  CreateKeyCommand,
  DecryptCommand,
  DisableKeyCommand,
  EncryptCommand,
  GenerateDataKeyCommand,
  KMSClient,
  ReEncryptCommand,
} from '@aws-sdk/client-kms'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFaults } from '#infra/local/faults.ts'
import { startKms } from '#infra/local/aws/kms.ts'
import { tempFolder } from '#tests/infra/local/temp-folder.ts'

const clientOf = (url: string, maxAttempts = 1): KMSClient => {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
  return new KMSClient({ endpoint: url, region: 'us-east-1', credentials, maxAttempts })
}

async function startedKms(stateDir = tempFolder(), faults = createFaults()) {
  const kms = await startKms({ stateDir, faults })
  onTestFinished(() => kms.close())
  const client = clientOf(kms.url)
  return { kms, client, faults, KeyId: await kms.keyArn('alias/test') }
}

const context = { tenant: 'acme', purpose: 'vendor' }

describe('local KMS', () => {
  it('decrypts its data keys under the same context in any order', async () => {
    const { client, KeyId } = await startedKms()
    const key = await client.send(new GenerateDataKeyCommand({ KeyId, KeySpec: 'AES_256', EncryptionContext: context }))
    expect(key.Plaintext).toHaveLength(32)
    const EncryptionContext = { purpose: 'vendor', tenant: 'acme' }
    const opened = await client.send(new DecryptCommand({ CiphertextBlob: key.CiphertextBlob, EncryptionContext }))
    expect(opened).toMatchObject({ KeyId, Plaintext: key.Plaintext })
  })

  it.for([undefined, { tenant: 'acme' }, { ...context, tenant: 'bolt' }, { ...context, more: '' }])(
    'rejects a decryption under another context: %j',
    async (EncryptionContext?: Record<string, string>) => {
      const { client, KeyId } = await startedKms()
      const Plaintext = Buffer.from('secret')
      const { CiphertextBlob } = await client.send(new EncryptCommand({ KeyId, Plaintext, EncryptionContext: context }))
      const wrong = client.send(new DecryptCommand({ CiphertextBlob, EncryptionContext }))
      await expect(wrong).rejects.toMatchObject({ name: 'InvalidCiphertextException' })
    },
  )

  it('rejects a ciphertext with a changed byte or a missing end', async () => {
    const { client, KeyId } = await startedKms()
    const Plaintext = Buffer.from('abc')
    const { CiphertextBlob = Buffer.of() } = await client.send(new EncryptCommand({ KeyId, Plaintext }))
    const changed = Array.from(CiphertextBlob, (byte, index) => {
      const copy = Buffer.from(CiphertextBlob)
      copy[index] = byte ^ 1
      return copy
    })
    for (const broken of [...changed, CiphertextBlob.subarray(0, -1), CiphertextBlob.subarray(0, 20)]) {
      const opened = client.send(new DecryptCommand({ CiphertextBlob: broken }))
      await expect(opened).rejects.toMatchObject({ name: 'InvalidCiphertextException' })
    }
  })

  it('re-encrypts under another key and context without returning the plaintext', async () => {
    const { client, KeyId } = await startedKms()
    const created = await client.send(new CreateKeyCommand())
    const DestinationKeyId = created.KeyMetadata?.Arn ?? ''
    const Plaintext = Buffer.from('secret')
    const sealed = await client.send(new EncryptCommand({ KeyId, Plaintext, EncryptionContext: context }))
    const moved = await client.send(
      new ReEncryptCommand({
        CiphertextBlob: sealed.CiphertextBlob,
        SourceEncryptionContext: context,
        DestinationKeyId,
        DestinationEncryptionContext: { tenant: 'bolt' },
      }),
    )
    expect(moved).toMatchObject({ SourceKeyId: KeyId, KeyId: DestinationKeyId })
    const request = { CiphertextBlob: moved.CiphertextBlob, EncryptionContext: { tenant: 'bolt' } }
    const opened = await client.send(new DecryptCommand({ ...request, KeyId: DestinationKeyId }))
    expect(Buffer.from(opened.Plaintext ?? []).toString()).toBe('secret')
    const wrong = client.send(new DecryptCommand({ ...request, KeyId }))
    await expect(wrong).rejects.toMatchObject({ name: 'IncorrectKeyException' })
  })

  it('rejects an unknown key and a disabled key with the errors of AWS', async () => {
    const { client, KeyId } = await startedKms()
    const unknown = 'arn:aws:kms:us-east-1:000000000000:key/00000000-0000-4000-8000-000000000000'
    const generated = client.send(new GenerateDataKeyCommand({ KeyId: unknown, KeySpec: 'AES_256' }))
    await expect(generated).rejects.toMatchObject({ name: 'NotFoundException' })
    const { CiphertextBlob } = await client.send(new EncryptCommand({ KeyId, Plaintext: Buffer.from('abc') }))
    await client.send(new DisableKeyCommand({ KeyId }))
    const opened = client.send(new DecryptCommand({ CiphertextBlob }))
    await expect(opened).rejects.toMatchObject({ name: 'DisabledException' })
  })

  it('rejects a plaintext above 4096 bytes', async () => {
    const { client, KeyId } = await startedKms()
    const large = client.send(new EncryptCommand({ KeyId, Plaintext: Buffer.alloc(4097) }))
    await expect(large).rejects.toMatchObject({ name: 'ValidationException' })
  })

  it('keeps its keys over a restart in a file that only its owner can read', async () => {
    const stateDir = tempFolder()
    const before = await startKms({ stateDir })
    const KeyId = await before.keyArn('alias/test')
    const { CiphertextBlob } = await clientOf(before.url).send(
      new EncryptCommand({ KeyId, Plaintext: Buffer.from('kept') }),
    )
    await before.close()
    const after = await startedKms(stateDir)
    expect(after.KeyId).toBe(KeyId)
    const opened = await after.client.send(new DecryptCommand({ CiphertextBlob }))
    expect(Buffer.from(opened.Plaintext ?? []).toString()).toBe('kept')
    expect(statSync(join(stateDir, 'kms-keys.json')).mode & 0o777).toBe(0o600)
  })

  it('closes the connection while it refuses, so that the SDK retries', async () => {
    const { kms, faults, KeyId } = await startedKms()
    await faults.set({ part: 'kms', mode: 'refuse' })
    const asked = clientOf(kms.url, 2).send(new GenerateDataKeyCommand({ KeyId, KeySpec: 'AES_256' }))
    await expect(asked).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(faults.counts().kms).toBe(2)
  })
})
