import {
  DecryptCommand,
  GenerateDataKeyCommand,
  IncorrectKeyException,
  InvalidCiphertextException,
  KMSClient,
  type KMSClientConfig,
  ReEncryptCommand,
} from '@aws-sdk/client-kms'
import { countMetric } from '#shared/base/metrics.ts'
import { DecryptionFailed } from '#shared/vault/envelope.ts'
import { type KeyContext, type KeyService, KeyServiceUnavailable } from '#shared/vault/key-service.ts'

const TOTAL_TIMEOUT_MS = 2000
const ATTEMPT_TIMEOUT_MS = 600
// The SDK's standard mode waits between attempts with jitter, and retries only throttling, timeouts and failures of
// KMS. https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
const MAX_ATTEMPTS = 6

/** Returns a KMS client whose attempts are short enough for a retry within the total timeout. */
export const kmsClient = (overrides: KMSClientConfig = {}): KMSClient =>
  new KMSClient({
    maxAttempts: MAX_ATTEMPTS,
    retryMode: 'standard',
    requestHandler: {
      connectionTimeout: ATTEMPT_TIMEOUT_MS,
      requestTimeout: ATTEMPT_TIMEOUT_MS,
      throwOnRequestTimeout: true,
    },
    ...overrides,
  })

const encryptionContext = ({ tenantId, purpose }: KeyContext): Record<string, string> => ({
  tenant_id: tenantId,
  purpose,
  service: 'tenantry',
})

/**
 * Returns the ARN of a key's replica in a region. All replicas of a multi-Region key have its id, and KMS decrypts only with keys
 * of its own region. Returns any other ARN unchanged.
 */
export const inRegion = (region: string, keyArn: string): string =>
  keyArn.replace(/^(arn:[\w-]+:kms:)[\w-]+(:\d+:key\/mrk-)/, `$1${region}$2`)

/** Returns the key service of a KMS client. The KMS key `keyId` wraps new data keys. */
export function keyService(client: KMSClient, keyId: string): KeyService {
  const request = async <Output>(send: (options: { abortSignal: AbortSignal }) => Promise<Output>): Promise<Output> => {
    try {
      return await send({ abortSignal: AbortSignal.timeout(TOTAL_TIMEOUT_MS) })
    } catch (error) {
      // https://docs.aws.amazon.com/kms/latest/APIReference/API_Decrypt.html#API_Decrypt_Errors
      if (error instanceof InvalidCiphertextException || error instanceof IncorrectKeyException) {
        countMetric('DecryptionFailed')
        throw new DecryptionFailed()
      }
      countMetric('KmsFailed')
      throw new KeyServiceUnavailable(error)
    }
  }

  return {
    generate: async (context) => {
      const command = new GenerateDataKeyCommand({
        KeyId: keyId,
        KeySpec: 'AES_256',
        EncryptionContext: encryptionContext(context),
      })
      const { KeyId, CiphertextBlob, Plaintext } = await request((options) => client.send(command, options))
      return {
        kmsKeyArn: required(KeyId),
        wrapped: required(CiphertextBlob),
        plaintext: moveSecret(required(Plaintext)),
      }
    },
    unwrap: async ({ kmsKeyArn, wrapped }, context) => {
      const command = new DecryptCommand({
        KeyId: inRegion(await client.config.region(), kmsKeyArn),
        CiphertextBlob: wrapped,
        EncryptionContext: encryptionContext(context),
      })
      const { Plaintext } = await request((options) => client.send(command, options))
      return moveSecret(required(Plaintext))
    },
    rewrap: async ({ kmsKeyArn, wrapped }, context, toKeyId) => {
      const command = new ReEncryptCommand({
        CiphertextBlob: wrapped,
        SourceKeyId: inRegion(await client.config.region(), kmsKeyArn),
        SourceEncryptionContext: encryptionContext(context),
        DestinationKeyId: toKeyId,
        DestinationEncryptionContext: encryptionContext(context),
      })
      const { KeyId, CiphertextBlob } = await request((options) => client.send(command, options))
      return { kmsKeyArn: required(KeyId), wrapped: required(CiphertextBlob) }
    },
  }
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new KeyServiceUnavailable(new Error('a field is missing in the response of KMS'))
  return value
}

/** Copies a secret into a new buffer and overwrites the original. */
function moveSecret(secret: Uint8Array): Buffer {
  const copy = Buffer.from(secret)
  secret.fill(0)
  return copy
}
