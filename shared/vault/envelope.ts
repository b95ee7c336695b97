import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** What a ciphertext is bound to, as additional authenticated data: it decrypts only with the same values. */
export interface Binding {
  readonly purpose: string
  /** The tenant or the user whose secret it is. */
  readonly ownerId: string
  /** The row's id. The service generates it before it encrypts the secret. */
  readonly rowId: string
  readonly field: string
  readonly dataKeyId: string
  /** Each replacement increments it, so that nobody can restore a previous ciphertext. */
  readonly secretVersion: number
}

/** A ciphertext does not match its key or its binding. The error does not reveal which. */
export class DecryptionFailed extends Error {
  override name = 'DecryptionFailed'
  constructor() {
    super('a ciphertext does not match its key or its encryption context')
  }
}

/** The longest text that can be encrypted, in bytes of UTF-8. */
export const PLAINTEXT_LIMIT_BYTES = 8192

const VERSION = 1
const KEY_BYTES = 32
const KEY_ID_BYTES = 16
// NIST SP 800-38D, 8.2.2 and 8.3: a random nonce of 96 bits serves 2^32 texts under one key.
// https://doi.org/10.6028/NIST.SP.800-38D
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES
const LENGTH_BYTES = 2
const SMALLEST_BUCKET_BYTES = 64

/**
 * Encrypts a text with AES-256-GCM under a data key of 32 bytes. Returns version (1) ‖ data key id (16) ‖ nonce (12) ‖
 * ciphertext ‖ tag (16). Padding to 64 bytes or the next power of two hides the text's length.
 */
export function encryptText(key: Uint8Array, text: string, binding: Binding): Buffer {
  const padded = pad(text)
  try {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', checkedKey(key), nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(boundData(binding))
    const encrypted = Buffer.concat([cipher.update(padded), cipher.final()])
    return Buffer.concat([Buffer.of(VERSION), idBytes(binding.dataKeyId), nonce, encrypted, cipher.getAuthTag()])
  } finally {
    padded.fill(0)
  }
}

/** Decrypts what `encryptText` returned for this key and binding. Throws DecryptionFailed for anything else. */
export function decryptText(key: Uint8Array, envelope: Uint8Array, binding: Binding): string {
  const bytes = Buffer.from(envelope.buffer, envelope.byteOffset, envelope.byteLength)
  const encryptedBytes = bytes.length - HEADER_BYTES - TAG_BYTES
  if (encryptedBytes < SMALLEST_BUCKET_BYTES || bytes[0] !== VERSION) throw new DecryptionFailed()
  if (!bytes.subarray(1, 1 + KEY_ID_BYTES).equals(idBytes(binding.dataKeyId))) throw new DecryptionFailed()
  const nonce = bytes.subarray(1 + KEY_ID_BYTES, HEADER_BYTES)
  // Without `authTagLength`, Node accepts a truncated tag.
  const decipher = createDecipheriv('aes-256-gcm', checkedKey(key), nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(boundData(binding))
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES))
  const padded = decipher.update(bytes.subarray(HEADER_BYTES, bytes.length - TAG_BYTES))
  try {
    decipher.final()
  } catch {
    padded.fill(0)
    throw new DecryptionFailed()
  }
  const text = padded.toString('utf8', LENGTH_BYTES, LENGTH_BYTES + padded.readUInt16BE(0))
  padded.fill(0)
  return text
}

/** Returns the id of the data key that an envelope names. Nothing has checked it yet. */
export const keyIdOfEnvelope = (envelope: Uint8Array): string =>
  Buffer.from(envelope.subarray(1, 1 + KEY_ID_BYTES))
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

function checkedKey(key: Uint8Array): Uint8Array {
  if (key.length !== KEY_BYTES) throw new Error('a data key must have 32 bytes')
  return key
}

const idBytes = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex')

// JSON, because no two different lists have the same JSON text.
const boundData = ({ purpose, ownerId, rowId, field, dataKeyId, secretVersion }: Binding): Buffer =>
  Buffer.from(JSON.stringify([VERSION, purpose, ownerId, rowId, field, dataKeyId, secretVersion]))

function pad(text: string): Buffer {
  const length = Buffer.byteLength(text)
  if (length > PLAINTEXT_LIMIT_BYTES) throw new RangeError('the text is too long to encrypt')
  const bucket = Math.max(SMALLEST_BUCKET_BYTES, 2 ** Math.ceil(Math.log2(LENGTH_BYTES + length)))
  const padded = Buffer.alloc(bucket)
  padded.writeUInt16BE(length, 0)
  padded.write(text, LENGTH_BYTES)
  return padded
}
