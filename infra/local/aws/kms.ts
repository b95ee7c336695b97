import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import * as v from 'valibot'
import type { Faults } from '#infra/local/faults.ts'
import type { HttpServer } from '#infra/local/http-server.ts'
import { type Ask, AwsError, type AwsOperation, type Authorize, parseInput, startAwsJson } from './aws-endpoints.ts'
import {
  decryptWith,
  type EncryptionContext,
  encryptWith,
  type KmsKey,
  keyArn,
  keyIdOf,
  type KmsKeys,
  openKmsKeys,
} from './kms-keys.ts'

// Limits: https://docs.aws.amazon.com/kms/latest/APIReference/API_Encrypt.html
const Blob = (maxBytes: number) =>
  v.pipe(
    v.string(),
    v.base64(),
    v.transform((text) => Buffer.from(text, 'base64')),
    v.check(({ length }) => length > 0 && length <= maxBytes, `must be 1 to ${maxBytes} bytes`),
  )
const Context = v.optional(v.record(v.string(), v.string()), {})
const OnlyKeyId = v.object({ KeyId: v.string() })
const DataKeyInput = v.object({ KeyId: v.string(), KeySpec: v.literal('AES_256'), EncryptionContext: Context })
const EncryptInput = v.object({ KeyId: v.string(), Plaintext: Blob(4096), EncryptionContext: Context })
const DecryptInput = v.object({ KeyId: v.optional(v.string()), CiphertextBlob: Blob(6144), EncryptionContext: Context })
const ReEncryptInput = v.object({
  CiphertextBlob: Blob(6144),
  SourceKeyId: v.optional(v.string()),
  SourceEncryptionContext: Context,
  DestinationKeyId: v.string(),
  DestinationEncryptionContext: Context,
})

export interface Kms extends HttpServer {
  /** Returns the ARN of the key with this alias (`alias/NAME`). Creates the key if there is none. */
  keyArn(alias: string): Promise<string>
}

/**
 * Serves KMS for the unmodified SDK client: symmetric keys, kept in `stateDir`, bound to the encryption context. Only the
 * operations that the service and its tests use.
 */
export async function startKms(options: {
  readonly stateDir: string
  readonly faults?: Faults
  readonly port?: number
  readonly authorize?: Authorize | undefined
}): Promise<Kms> {
  const { stateDir, faults, port, authorize } = options
  const keys = await openKmsKeys(join(stateDir, 'kms-keys.json'))
  const meet = faults && (() => faults.meet('kms'))
  const server = await startAwsJson({ service: 'TrentService', operations: operationsOn(keys), port, meet, authorize })
  return {
    ...server,
    keyArn: async (alias) => {
      try {
        return keyArn(keys.find(alias))
      } catch (error) {
        if (error instanceof AwsError) return keyArn(await keys.create(alias))
        throw error
      }
    },
  }
}

/** Returns the key for a use with an encryption context. Throws AwsError if the caller may not, or the key is disabled. */
function permitted(ask: Ask, action: string, key: KmsKey, context: EncryptionContext): KmsKey {
  const conditions = Object.entries(context).map(([name, value]) => [`kms:EncryptionContext:${name}`, value])
  ask(action, keyArn(key), Object.fromEntries(conditions))
  if (key.state === 'Disabled') throw new AwsError('DisabledException', `${keyArn(key)} is disabled.`)
  return key
}

function operationsOn(keys: KmsKeys): ReadonlyMap<string, AwsOperation> {
  const decrypt = (
    ask: Ask,
    action: string,
    { ciphertext, context, keyId }: { ciphertext: Buffer; context: EncryptionContext; keyId: string | undefined },
  ) => {
    const expected = keyId === undefined ? undefined : keys.find(keyId)
    const key = keys.withId(keyIdOf(ciphertext) ?? '')
    if (key === undefined) throw new AwsError('InvalidCiphertextException', 'The ciphertext is not valid')
    if (expected !== undefined && expected.id !== key.id) {
      throw new AwsError('IncorrectKeyException', 'The key ID in the request does not identify the key that was used.')
    }
    return { key, plaintext: decryptWith(permitted(ask, action, key, context), ciphertext, context) }
  }
  const setState = async (input: unknown, state: KmsKey['state']) => {
    await keys.setState(keys.find(parseInput(OnlyKeyId, input).KeyId), state)
    return {}
  }

  return new Map<string, AwsOperation>([
    [
      'GenerateDataKey',
      (input, ask) => {
        const { KeyId, EncryptionContext } = parseInput(DataKeyInput, input)
        const key = permitted(ask, 'kms:GenerateDataKey', keys.find(KeyId), EncryptionContext)
        const plaintext = randomBytes(32)
        const CiphertextBlob = encryptWith(key, plaintext, EncryptionContext).toString('base64')
        return { KeyId: keyArn(key), CiphertextBlob, Plaintext: plaintext.toString('base64') }
      },
    ],
    [
      'Encrypt',
      (input, ask) => {
        const { KeyId, Plaintext, EncryptionContext } = parseInput(EncryptInput, input)
        const key = permitted(ask, 'kms:Encrypt', keys.find(KeyId), EncryptionContext)
        return { KeyId: keyArn(key), CiphertextBlob: encryptWith(key, Plaintext, EncryptionContext).toString('base64') }
      },
    ],
    [
      'Decrypt',
      (input, ask) => {
        const { KeyId: keyId, CiphertextBlob: ciphertext, EncryptionContext: context } = parseInput(DecryptInput, input)
        const { key, plaintext } = decrypt(ask, 'kms:Decrypt', { ciphertext, context, keyId })
        return { KeyId: keyArn(key), Plaintext: plaintext.toString('base64') }
      },
    ],
    [
      'ReEncrypt',
      (input, ask) => {
        const { CiphertextBlob, SourceKeyId, SourceEncryptionContext, DestinationKeyId, DestinationEncryptionContext } =
          parseInput(ReEncryptInput, input)
        const source = { ciphertext: CiphertextBlob, context: SourceEncryptionContext, keyId: SourceKeyId }
        const { key: sourceKey, plaintext } = decrypt(ask, 'kms:ReEncryptFrom', source)
        const key = permitted(ask, 'kms:ReEncryptTo', keys.find(DestinationKeyId), DestinationEncryptionContext)
        return {
          CiphertextBlob: encryptWith(key, plaintext, DestinationEncryptionContext).toString('base64'),
          SourceKeyId: keyArn(sourceKey),
          KeyId: keyArn(key),
        }
      },
    ],
    [
      'CreateKey',
      async () => {
        const key = await keys.create(null)
        return { KeyMetadata: { KeyId: key.id, Arn: keyArn(key) } }
      },
    ],
    ['EnableKey', (input) => setState(input, 'Enabled')],
    ['DisableKey', (input) => setState(input, 'Disabled')],
  ])
}
