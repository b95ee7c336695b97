import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import * as v from 'valibot'
import {
  type Ask,
  AWS_ACCOUNT,
  AwsError,
  type AwsOperation,
  type Authorize,
  parseInput,
  startAwsJson,
} from './aws-endpoints.ts'
import type { Faults } from '#infra/local/faults.ts'
import type { HttpServer } from '#infra/local/http-server.ts'
import {
  type EncryptionContext,
  type KmsKey,
  keyArn,
  keyIdOf,
  type KmsKeys,
  openKmsKeys,
  seal,
  unseal,
} from './kms-keys.ts'

// Limits: https://docs.aws.amazon.com/kms/latest/APIReference/API_Encrypt.html and API_GenerateDataKey.html
const Blob = (maxBytes: number) =>
  v.pipe(
    v.string(),
    v.base64(),
    v.transform((text) => Buffer.from(text, 'base64')),
    v.check(({ length }) => length > 0 && length <= maxBytes, `must be 1 to ${maxBytes} bytes`),
  )
const Context = v.optional(v.record(v.string(), v.string()), {})
const OnlyKeyId = v.object({ KeyId: v.string() })
const DataKeyInput = v.object({
  KeyId: v.string(),
  KeySpec: v.optional(v.picklist(['AES_128', 'AES_256'])),
  NumberOfBytes: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1024))),
  EncryptionContext: Context,
})
const EncryptInput = v.object({ KeyId: v.string(), Plaintext: Blob(4096), EncryptionContext: Context })
const DecryptInput = v.object({ KeyId: v.optional(v.string()), CiphertextBlob: Blob(6144), EncryptionContext: Context })
const ReEncryptInput = v.object({
  CiphertextBlob: Blob(6144),
  SourceKeyId: v.optional(v.string()),
  SourceEncryptionContext: Context,
  DestinationKeyId: v.string(),
  DestinationEncryptionContext: Context,
})
const CreateKeyInput = v.object({
  Description: v.optional(v.string()),
  KeySpec: v.optional(v.literal('SYMMETRIC_DEFAULT')),
  KeyUsage: v.optional(v.literal('ENCRYPT_DECRYPT')),
})
const DeletionInput = v.object({
  KeyId: v.string(),
  PendingWindowInDays: v.optional(v.pipe(v.number(), v.integer(), v.minValue(7), v.maxValue(30)), 30),
})

const ALGORITHM = 'SYMMETRIC_DEFAULT'
const DAY_SECONDS = 86_400

export interface Kms extends HttpServer {
  /** The ARN of the key that has this alias (`alias/NAME`), made when there was none. */
  keyArn(alias: string): Promise<string>
}

/**
 * KMS for the unmodified SDK client: symmetric keys kept in `stateDir`, the encryption context enforced. A key is never
 * deleted: scheduling its deletion makes it unusable, and nothing else.
 */
export async function startKms(options: {
  readonly stateDir: string
  readonly faults?: Faults
  readonly port?: number
  readonly authorize?: Authorize | undefined
}): Promise<Kms> {
  const { stateDir, faults, port, authorize } = options
  const keys = await openKmsKeys(join(stateDir, 'kms-keys.json'))
  const operations = new Map([...cryptography(keys), ...administration(keys)])
  const meet = faults && (() => faults.meet('kms'))
  const server = await startAwsJson({ service: 'TrentService', operations, port, meet, authorize })
  return {
    ...server,
    keyArn: async (alias) => {
      try {
        return keyArn(keys.find(alias))
      } catch (error) {
        if (error instanceof AwsError) return keyArn(await keys.create({ alias }))
        throw error
      }
    },
  }
}

function usable(key: KmsKey): KmsKey {
  if (key.state === 'Disabled') throw new AwsError('DisabledException', `${keyArn(key)} is disabled.`)
  if (key.state === 'PendingDeletion') {
    throw new AwsError('KMSInvalidStateException', `${keyArn(key)} is pending deletion.`)
  }
  return key
}

/** Asks for a use of a key with an encryption context. */
const askFor = (ask: Ask, action: string, key: KmsKey, context: EncryptionContext): void =>
  ask(
    action,
    keyArn(key),
    Object.fromEntries(Object.entries(context).map(([name, value]) => [`kms:EncryptionContext:${name}`, value])),
  )

function decrypt(
  keys: KmsKeys,
  ciphertext: Buffer,
  context: EncryptionContext,
  expected: string | undefined,
  allowed: (key: KmsKey) => void,
) {
  const wanted = expected === undefined ? undefined : keys.find(expected)
  const key = keys.withId(keyIdOf(ciphertext) ?? '')
  if (key === undefined) throw new AwsError('InvalidCiphertextException', 'The ciphertext is not valid')
  if (wanted !== undefined && wanted.id !== key.id) {
    throw new AwsError(
      'IncorrectKeyException',
      'The key ID in the request does not identify a CMK that can perform this operation.',
    )
  }
  allowed(key)
  return { key, plaintext: unseal(usable(key), ciphertext, context) }
}

function cryptography(keys: KmsKeys): [string, AwsOperation][] {
  const generateDataKey = (input: unknown, ask: Ask, action = 'kms:GenerateDataKey') => {
    const { KeyId, KeySpec, NumberOfBytes, EncryptionContext } = parseInput(DataKeyInput, input)
    if ((KeySpec === undefined) === (NumberOfBytes === undefined)) {
      throw new AwsError('ValidationException', 'Please specify either number of bytes or key spec.')
    }
    const found = keys.find(KeyId)
    askFor(ask, action, found, EncryptionContext)
    const key = usable(found)
    const plaintext = randomBytes(NumberOfBytes ?? (KeySpec === 'AES_128' ? 16 : 32))
    const CiphertextBlob = seal(key, plaintext, EncryptionContext).toString('base64')
    return { KeyId: keyArn(key), CiphertextBlob, Plaintext: plaintext.toString('base64') }
  }

  return [
    ['GenerateDataKey', (input, ask) => generateDataKey(input, ask)],
    [
      'GenerateDataKeyWithoutPlaintext',
      (input, ask) => {
        const { Plaintext: _, ...withoutPlaintext } = generateDataKey(input, ask, 'kms:GenerateDataKeyWithoutPlaintext')
        return withoutPlaintext
      },
    ],
    [
      'Encrypt',
      (input, ask) => {
        const { KeyId, Plaintext, EncryptionContext } = parseInput(EncryptInput, input)
        const found = keys.find(KeyId)
        askFor(ask, 'kms:Encrypt', found, EncryptionContext)
        const key = usable(found)
        const CiphertextBlob = seal(key, Plaintext, EncryptionContext).toString('base64')
        return { KeyId: keyArn(key), CiphertextBlob, EncryptionAlgorithm: ALGORITHM }
      },
    ],
    [
      'Decrypt',
      (input, ask) => {
        const { KeyId, CiphertextBlob, EncryptionContext } = parseInput(DecryptInput, input)
        const { key, plaintext } = decrypt(keys, CiphertextBlob, EncryptionContext, KeyId, (named) =>
          askFor(ask, 'kms:Decrypt', named, EncryptionContext),
        )
        return { KeyId: keyArn(key), Plaintext: plaintext.toString('base64'), EncryptionAlgorithm: ALGORITHM }
      },
    ],
    [
      'ReEncrypt',
      (input, ask) => {
        const asked = parseInput(ReEncryptInput, input)
        const { SourceEncryptionContext, DestinationEncryptionContext } = asked
        const source = decrypt(keys, asked.CiphertextBlob, SourceEncryptionContext, asked.SourceKeyId, (named) =>
          askFor(ask, 'kms:ReEncryptFrom', named, SourceEncryptionContext),
        )
        const found = keys.find(asked.DestinationKeyId)
        askFor(ask, 'kms:ReEncryptTo', found, DestinationEncryptionContext)
        const key = usable(found)
        return {
          CiphertextBlob: seal(key, source.plaintext, DestinationEncryptionContext).toString('base64'),
          SourceKeyId: keyArn(source.key),
          KeyId: keyArn(key),
          SourceEncryptionAlgorithm: ALGORITHM,
          DestinationEncryptionAlgorithm: ALGORITHM,
        }
      },
    ],
  ]
}

function administration(keys: KmsKeys): [string, AwsOperation][] {
  const setState = async (input: unknown, state: KmsKey['state']) => {
    await keys.setState(keys.find(parseInput(OnlyKeyId, input).KeyId), state)
    return {}
  }

  return [
    ['CreateKey', async (input) => ({ KeyMetadata: metadata(await createKey(keys, input)) })],
    ['DescribeKey', (input) => ({ KeyMetadata: metadata(keys.find(parseInput(OnlyKeyId, input).KeyId)) })],
    ['EnableKey', (input) => setState(input, 'Enabled')],
    ['DisableKey', (input) => setState(input, 'Disabled')],
    [
      'ScheduleKeyDeletion',
      async (input) => {
        const { KeyId, PendingWindowInDays } = parseInput(DeletionInput, input)
        const key = await keys.setState(keys.find(KeyId), 'PendingDeletion')
        const DeletionDate = Math.floor(Date.now() / 1000) + PendingWindowInDays * DAY_SECONDS
        return { KeyId: keyArn(key), KeyState: key.state, DeletionDate, PendingWindowInDays }
      },
    ],
    [
      'CancelKeyDeletion',
      async (input) => {
        const key = keys.find(parseInput(OnlyKeyId, input).KeyId)
        await keys.setState(key, 'Disabled')
        return { KeyId: keyArn(key) }
      },
    ],
  ]
}

const createKey = (keys: KmsKeys, input: unknown): Promise<KmsKey> =>
  keys.create({ description: parseInput(CreateKeyInput, input).Description })

const metadata = (key: KmsKey) => ({
  AWSAccountId: AWS_ACCOUNT,
  KeyId: key.id,
  Arn: keyArn(key),
  CreationDate: Date.parse(key.created_at) / 1000,
  Enabled: key.state === 'Enabled',
  Description: key.description,
  KeyUsage: 'ENCRYPT_DECRYPT',
  KeyState: key.state,
  Origin: 'AWS_KMS',
  KeyManager: 'CUSTOMER',
  KeySpec: ALGORITHM,
  CustomerMasterKeySpec: ALGORITHM,
  EncryptionAlgorithms: [ALGORITHM],
  MultiRegion: false,
})
