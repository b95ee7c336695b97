import {
  DecryptCommand,
  GenerateDataKeyCommand,
  IncorrectKeyException,
  InvalidCiphertextException,
  KMSClient,
  type KMSClientConfig,
  ReEncryptCommand,
} from '@aws-sdk/client-kms'
import { Problem } from '#shared/problem.ts'
import { countMetric } from '#shared/log.ts'
import { DecryptionFailed } from '#shared/vault/envelope.ts'

/** KMS gives no answer, or refuses: nothing can be sealed or opened now. A client may try again later. */
export class KeyServiceUnavailable extends Problem {
  override name = 'KeyServiceUnavailable'
  constructor(cause: unknown) {
    super('dependency-unavailable', { headers: { 'retry-after': '5' }, cause })
  }
}

/** What a wrapped key is bound to in KMS. It stands in CloudTrail in clear: ids, and nothing secret or personal. */
export interface KeyContext {
  readonly tenantId: string
  readonly purpose: string
}

/** A data key as KMS wrapped it. */
export interface WrappedKey {
  readonly kmsKeyArn: string
  readonly wrapped: Uint8Array
}

/** The three things that are asked of KMS. Each takes at most two seconds, whatever KMS does. */
export interface KeyService {
  /** A new data key of 256 bits. The caller overwrites `plaintext` after use. Throws KeyServiceUnavailable. */
  generate(context: KeyContext): Promise<WrappedKey & { readonly plaintext: Buffer }>
  /**
   * The plaintext of a data key. Throws DecryptionFailed when it was wrapped with another context or by another key than is said,
   * else KeyServiceUnavailable.
   */
  unwrap(key: WrappedKey, context: KeyContext): Promise<Buffer>
  /** The same data key, wrapped by another KMS key, without its plaintext leaving KMS. Throws as unwrap does. */
  rewrap(key: WrappedKey, context: KeyContext, toKeyId: string): Promise<WrappedKey>
}

const BUDGET_MS = 2000
const ATTEMPT_MS = 600
// The SDK's standard mode waits between attempts with jitter, and repeats only what may go better: throttling, timeouts and
// failures of KMS itself, not what it refuses. https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
const ATTEMPTS = 6

/** A client that gives up on an attempt in time for another one. */
export const kmsClient = (overrides: KMSClientConfig = {}): KMSClient =>
  new KMSClient({
    maxAttempts: ATTEMPTS,
    retryMode: 'standard',
    requestHandler: { connectionTimeout: ATTEMPT_MS, requestTimeout: ATTEMPT_MS, throwOnRequestTimeout: true },
    ...overrides,
  })

const contextOf = ({ tenantId, purpose }: KeyContext): Record<string, string> => ({
  tenant_id: tenantId,
  purpose,
  service: 'tenantry',
})

/** The key service behind a KMS client; `keyId` names the key that wraps new data keys. */
export function keyService(client: KMSClient, keyId: string): KeyService {
  const ask = async <Answer>(send: (options: { abortSignal: AbortSignal }) => Promise<Answer>): Promise<Answer> => {
    try {
      return await send({ abortSignal: AbortSignal.timeout(BUDGET_MS) })
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
        EncryptionContext: contextOf(context),
      })
      const { KeyId, CiphertextBlob, Plaintext } = await ask((options) => client.send(command, options))
      return { kmsKeyArn: there(KeyId), wrapped: there(CiphertextBlob), plaintext: taken(there(Plaintext)) }
    },
    unwrap: async ({ kmsKeyArn, wrapped }, context) => {
      const command = new DecryptCommand({
        KeyId: kmsKeyArn,
        CiphertextBlob: wrapped,
        EncryptionContext: contextOf(context),
      })
      const { Plaintext } = await ask((options) => client.send(command, options))
      return taken(there(Plaintext))
    },
    rewrap: async ({ kmsKeyArn, wrapped }, context, toKeyId) => {
      const command = new ReEncryptCommand({
        CiphertextBlob: wrapped,
        SourceKeyId: kmsKeyArn,
        SourceEncryptionContext: contextOf(context),
        DestinationKeyId: toKeyId,
        DestinationEncryptionContext: contextOf(context),
      })
      const { KeyId, CiphertextBlob } = await ask((options) => client.send(command, options))
      return { kmsKeyArn: there(KeyId), wrapped: there(CiphertextBlob) }
    },
  }
}

function there<T>(value: T | undefined): T {
  if (value === undefined) throw new KeyServiceUnavailable(new Error('KMS left out what it answers'))
  return value
}

/** Moves a secret into a buffer of our own, and overwrites where it was. */
function taken(secret: Uint8Array): Buffer {
  const own = Buffer.from(secret)
  secret.fill(0)
  return own
}
