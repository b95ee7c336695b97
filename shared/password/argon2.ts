import { randomBytes, timingSafeEqual } from 'node:crypto'
import { argon2id } from 'hash-wasm'

/** The cost of a hash with parallelism 1. OWASP's minimum: 19456 KiB, 2 iterations (Password Storage Cheat Sheet). */
export interface Cost {
  readonly memoryKib: number
  readonly iterations: number
}

interface ParsedHash extends Cost {
  readonly salt: Buffer
  readonly tag: Buffer
}

const TAG_BYTES = 32
const SALT_BYTES = 16
const MIN_MEMORY_KIB = 8

// No costlier hash is computed. A stored hash may cost more than the current settings, because they can be lowered.
const MAX: Cost = { memoryKib: 262_144, iterations: 16 }

const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=1\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{43})$/

function parsePhc(hash: string): ParsedHash | null {
  const [, m, t, salt = '', tag = ''] = PHC.exec(hash) ?? []
  const [memoryKib, iterations] = [Number(m), Number(t)]
  if (!(memoryKib >= MIN_MEMORY_KIB && memoryKib <= MAX.memoryKib && iterations >= 1 && iterations <= MAX.iterations))
    return null
  return { memoryKib, iterations, salt: Buffer.from(salt, 'base64'), tag: Buffer.from(tag, 'base64') }
}

const derive = async (password: string, salt: Uint8Array, cost: Cost): Promise<Buffer> =>
  Buffer.from(
    await argon2id({
      password,
      salt,
      memorySize: cost.memoryKib,
      iterations: cost.iterations,
      parallelism: 1,
      hashLength: TAG_BYTES,
      outputType: 'binary',
    }),
  )

const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')

/** Hashes a normalised, non-empty password with a new salt. Returns a PHC string. Blocks the thread. */
export async function hashPassword(password: string, cost: Cost): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const tag = await derive(password, salt, cost)
  return `$argon2id$v=19$m=${cost.memoryKib},t=${cost.iterations},p=1$${base64(salt)}$${base64(tag)}`
}

// Verification without a stored hash uses this salt, so that it takes the same time.
const DUMMY_SALT = randomBytes(SALT_BYTES)

/**
 * Returns whether the password matches the hash. Does the work of at least one hash at the current cost, so that response
 * time reveals neither whether the user exists nor how old the hash is: without a usable hash (none, another scheme, a cost
 * above MAX) it derives at the current cost, and after a cheaper hash it derives once more, at the difference.
 */
export async function verifyPassword(password: string, hash: string | null, cost: Cost): Promise<boolean> {
  const parsed = hash === null ? null : parsePhc(hash)
  const tag = await derive(password, parsed?.salt ?? DUMMY_SALT, parsed ?? cost)
  const missing = missingCost(parsed ?? cost, cost)
  if (missing !== null) await derive(password, DUMMY_SALT, missing)
  return parsed !== null && timingSafeEqual(tag, parsed.tag)
}

/** Returns the cost of the work that a hash did less than the current cost, or null. The work is the memory times the passes. */
function missingCost(done: Cost, { memoryKib, iterations }: Cost): Cost | null {
  const missingKib = Math.round(memoryKib - (done.memoryKib * done.iterations) / iterations)
  return missingKib < MIN_MEMORY_KIB ? null : { memoryKib: missingKib, iterations }
}

/** Returns whether the cost of a hash differs from the current cost. */
export function isOutdated(hash: string, cost: Cost): boolean {
  const parsed = parsePhc(hash)
  return parsed === null || parsed.memoryKib !== cost.memoryKib || parsed.iterations !== cost.iterations
}
