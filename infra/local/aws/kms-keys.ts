import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { readIfThere, writePrivateFile } from '#infra/local/private-file.ts'
import { AWS_ACCOUNT, AWS_REGION, AwsError } from './aws-endpoints.ts'

const StoredKey = v.object({
  id: v.pipe(v.string(), v.uuid()),
  alias: v.nullable(v.string()),
  state: v.picklist(['Enabled', 'Disabled']),
  material: v.pipe(v.string(), v.base64()),
})

type Stored = v.InferOutput<typeof StoredKey>

export type KmsKey = Readonly<Stored>
export type EncryptionContext = Readonly<Record<string, string>>

const ARN_PREFIX = `arn:aws:kms:${AWS_REGION}:${AWS_ACCOUNT}:`
export const keyArn = (key: KmsKey): string => `${ARN_PREFIX}key/${key.id}`

export interface KmsKeys {
  /** Returns the key with this id, ARN, alias or alias ARN. Throws NotFoundException. */
  find(name: string): KmsKey
  withId(id: string): KmsKey | undefined
  create(alias: string | null): Promise<KmsKey>
  setState(key: KmsKey, state: KmsKey['state']): Promise<KmsKey>
}

/** Opens the keys stored in the file `path`. A change is on disk when its promise resolves. */
export async function openKmsKeys(path: string): Promise<KmsKeys> {
  const stored = v.parse(v.array(StoredKey), JSON.parse((await readIfThere(path)) ?? '[]'))
  const keys = new Map(stored.map((key) => [key.id, key]))
  let saved = Promise.resolve()

  const put = async (key: Stored): Promise<KmsKey> => {
    keys.set(key.id, key)
    const write = () => writePrivateFile(path, `${JSON.stringify([...keys.values()], null, 2)}\n`)
    saved = saved.then(write, write)
    await saved
    return key
  }

  return {
    find: (name) => {
      const bare = name.startsWith(ARN_PREFIX) ? name.slice(ARN_PREFIX.length) : name
      const key = bare.startsWith('alias/')
        ? [...keys.values()].find(({ alias }) => alias === bare)
        : keys.get(bare.replace(/^key\//, ''))
      if (key === undefined) throw new AwsError('NotFoundException', `Key '${name}' does not exist`)
      return key
    },
    withId: (id) => keys.get(id),
    create: (alias) => put({ id: randomUUID(), alias, state: 'Enabled', material: randomBytes(32).toString('base64') }),
    setState: (key, state) => put({ ...key, state }),
  }
}

// A ciphertext is the version, the key's id, the nonce, the tag and the encrypted bytes. All of it is authenticated.
const VERSION = 1
const HEADER_BYTES = 1 + 16
const NONCE_BYTES = 12
const TAG_BYTES = 16
const OVERHEAD_BYTES = HEADER_BYTES + NONCE_BYTES + TAG_BYTES

// Sorted, because the order of a context's pairs has no meaning.
const authenticated = (header: Buffer, context: EncryptionContext): Buffer =>
  Buffer.concat([header, Buffer.from(JSON.stringify(Object.entries(context).toSorted(([a], [b]) => (a < b ? -1 : 1))))])

/** Encrypts with AES-256-GCM, bound to the context. */
export function encryptWith(key: KmsKey, plaintext: Uint8Array, context: EncryptionContext): Buffer {
  const header = Buffer.concat([Buffer.of(VERSION), Buffer.from(key.id.replaceAll('-', ''), 'hex')])
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(key.material, 'base64'), nonce)
  cipher.setAAD(authenticated(header, context))
  const encrypted = Buffer.concat([cipher.update(plaintext), cipher.final()])
  return Buffer.concat([header, nonce, cipher.getAuthTag(), encrypted])
}

/** Returns the id of the key that a ciphertext names, or undefined for bytes in another format. */
export function keyIdOf(ciphertext: Buffer): string | undefined {
  if (ciphertext.length < OVERHEAD_BYTES || ciphertext[0] !== VERSION) return undefined
  return ciphertext.toString('hex', 1, HEADER_BYTES).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Decrypts. Throws InvalidCiphertextException for another key, another context or a changed ciphertext. */
export function decryptWith(key: KmsKey, ciphertext: Buffer, context: EncryptionContext): Buffer {
  const header = ciphertext.subarray(0, HEADER_BYTES)
  const nonce = ciphertext.subarray(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', Buffer.from(key.material, 'base64'), nonce)
  decipher.setAAD(authenticated(header, context))
  decipher.setAuthTag(ciphertext.subarray(HEADER_BYTES + NONCE_BYTES, OVERHEAD_BYTES))
  const head = decipher.update(ciphertext.subarray(OVERHEAD_BYTES))
  try {
    return Buffer.concat([head, decipher.final()])
  } catch {
    throw new AwsError('InvalidCiphertextException', 'The ciphertext or its encryption context is not valid')
  }
}
