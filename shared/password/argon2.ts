import { randomBytes } from 'node:crypto'
import { type Cost, DIGEST_BYTES } from '#shared/password/cost.ts'
import { derive } from '#shared/password/derive.ts'

interface ParsedSalt extends Cost {
  readonly salt: Buffer
}

const SALT_BYTES = 16
const MIN_MEMORY_KIB = 8

// No costlier hash is computed. A stored hash may cost more than the current settings, because they can be lowered.
const MAX: Cost = { memoryKib: 262_144, iterations: 16 }

const PHC_SALT = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=1\$([A-Za-z0-9+/]{11,86})$/

function parseSalt(text: string): ParsedSalt | null {
  const [, m, t, salt = ''] = PHC_SALT.exec(text) ?? []
  const [memoryKib, iterations] = [Number(m), Number(t)]
  if (!(memoryKib >= MIN_MEMORY_KIB && memoryKib <= MAX.memoryKib && iterations >= 1 && iterations <= MAX.iterations))
    return null
  return { memoryKib, iterations, salt: Buffer.from(salt, 'base64') }
}

const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')

/** Returns the beginning of a PHC string: the scheme and the cost. */
export const phcParameters = ({ memoryKib, iterations }: Cost): string =>
  `$argon2id$v=19$m=${memoryKib},t=${iterations},p=1`

/** Hashes a normalised, non-empty password with a new salt. Returns a PHC string. */
export async function hashPassword(password: string, cost: Cost): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  return `${phcParameters(cost)}$${base64(salt)}$${base64(await derive(password, salt, cost))}`
}

// A digest without a usable salt, and added work, use this salt.
const DUMMY_SALT = randomBytes(SALT_BYTES)

/**
 * Computes the digest of a password with the salt and the cost of a stored hash: `salt` is its PHC string without the digest.
 * Derives once at each of `costs`, which are those of all stored hashes, so that response time reveals neither how old the hash is
 * nor whether there is one: without a usable salt (another scheme, a cost above MAX) it returns another digest.
 */
export async function digestPassword(password: string, salt: string, costs: readonly Cost[]): Promise<Buffer> {
  const parsed = parseSalt(salt)
  const isOwn = (cost: Cost) => cost.memoryKib === parsed?.memoryKib && cost.iterations === parsed.iterations
  let digest: Buffer = randomBytes(DIGEST_BYTES)
  for (const cost of costs) {
    const derived = await derive(password, (isOwn(cost) && parsed?.salt) || DUMMY_SALT, cost)
    if (isOwn(cost)) digest = derived
  }
  // An owner deleted the cost of a hash that is still there.
  return parsed === null || costs.some(isOwn) ? digest : derive(password, parsed.salt, parsed)
}

/** Returns whether the cost of a stored hash, given as its PHC string without the digest, differs from the current cost. */
export const isOutdated = (salt: string, cost: Cost): boolean => !salt.startsWith(`${phcParameters(cost)}$`)
