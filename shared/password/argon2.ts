import { randomBytes } from 'node:crypto'
import type { Cost } from '#shared/password/cost.ts'
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
 * Does the work of at least one hash at `cost`, which is the highest of all stored hashes, so that response time does not reveal how old the
 * hash is: without a usable salt (another scheme, a cost above MAX) it derives at that cost, and after a cheaper hash it derives once
 * more, at the difference.
 */
export async function digestPassword(password: string, salt: string, cost: Cost): Promise<Buffer> {
  const parsed = parseSalt(salt)
  const digest = await derive(password, parsed?.salt ?? DUMMY_SALT, parsed ?? cost)
  const missing = missingCost(parsed ?? cost, cost)
  if (missing !== null) await derive(password, DUMMY_SALT, missing)
  return digest
}

/** Returns the cost of the work that a hash did less than the current cost, or null. The work is the memory times the passes. */
function missingCost(done: Cost, { memoryKib, iterations }: Cost): Cost | null {
  const missingKib = Math.round(memoryKib - (done.memoryKib * done.iterations) / iterations)
  return missingKib < MIN_MEMORY_KIB ? null : { memoryKib: missingKib, iterations }
}

/** Returns whether the cost of a stored hash, given as its PHC string without the digest, differs from the current cost. */
export const isOutdated = (salt: string, cost: Cost): boolean => !salt.startsWith(`${phcParameters(cost)}$`)
