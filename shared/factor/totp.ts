import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

// RFC 6238 with what every authenticator app supports: SHA-1, six digits, steps of 30 seconds.
const STEP_SECONDS = 30
const DIGITS = 6
// RFC 4226, section 4: 160 bits are recommended.
const SECRET_BYTES = 20
// How many steps a clock may be off, in each direction. RFC 6238, section 5.2, recommends one.
const SKEW_STEPS = 1

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Returns a new secret as 32 characters of base32 (RFC 4648), as authenticator apps take it. */
export function newTotpSecret(): string {
  const bits = [...randomBytes(SECRET_BYTES)].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{5}/g) ?? []).map((five) => BASE32[Number.parseInt(five, 2)]).join('')
}

/** Returns the bytes of a secret in base32. */
export function secretBytes(secret: string): Buffer {
  const bits = Array.from(secret, (character) => BASE32.indexOf(character).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

/** Returns the number of the step that contains this time, in seconds since 1970. */
export const stepAt = (seconds: number): number => Math.floor(seconds / STEP_SECONDS)

/** Returns the code of a step. */
export function codeOf(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 15
  const number = (mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** DIGITS
  return String(number).padStart(DIGITS, '0')
}

/**
 * Returns the step that a code belongs to, or null when it belongs to none that may be used at this time, in seconds since
 * 1970. A step is used at most once: one up to `lastStep` is refused.
 */
export function acceptedStep(secret: Uint8Array, code: string, at: number, lastStep = -1): number | null {
  if (!/^\d{6}$/.test(code)) return null
  const now = stepAt(at)
  let accepted: number | null = null
  for (let step = now - SKEW_STEPS; step <= now + SKEW_STEPS; step += 1) {
    const isEqual = timingSafeEqual(Buffer.from(codeOf(secret, Math.max(0, step))), Buffer.from(code))
    if (isEqual && step > lastStep) accepted ??= step
  }
  return accepted
}

/** Returns the address that authenticator apps read from a QR code. https://github.com/google/google-authenticator/wiki/Key-Uri-Format */
export function otpauthUri(secret: string, { issuer, email }: { issuer: string; email: string }): string {
  const [name, label] = [encodeURIComponent(issuer), encodeURIComponent(email)]
  return `otpauth://totp/${name}:${label}?secret=${secret}&issuer=${name}&algorithm=SHA1&digits=${DIGITS}&period=${STEP_SECONDS}`
}
