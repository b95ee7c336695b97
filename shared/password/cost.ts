/** The cost of a hash with parallelism 1. OWASP's minimum: 19456 KiB, 2 iterations (Password Storage Cheat Sheet). */
export interface Cost {
  readonly memoryKib: number
  readonly iterations: number
}

export const DIGEST_BYTES = 32

/** Computes an Argon2id digest (RFC 9106, version 19, parallelism 1) of 32 bytes. The salt has at least 8 bytes. */
export type Derive = (password: string, salt: Uint8Array, cost: Cost) => Promise<Buffer>
