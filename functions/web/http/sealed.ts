import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

const NONCE_BYTES = 12
const TAG_BYTES = 16

const keyOf = (webKey: string, purpose: string): Buffer => createHmac('sha256', webKey).update(purpose).digest()

/** Returns a value that only the front end can read and make, as text for a cookie. Each purpose has a key of its own. */
export function seal(webKey: string, purpose: string, value: object): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keyOf(webKey, purpose), nonce)
  const sealed = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()])
  return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64url')
}

/** Returns the sealed value, or null for any other text. */
export function unseal(webKey: string, purpose: string, text: string): unknown {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length <= NONCE_BYTES + TAG_BYTES) return null
  try {
    const decipher = createDecipheriv('aes-256-gcm', keyOf(webKey, purpose), bytes.subarray(0, NONCE_BYTES))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    return JSON.parse(
      decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8'),
    )
  } catch {
    return null
  }
}
