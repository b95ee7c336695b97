import { argon2id } from 'hash-wasm'
import { type Derive, DIGEST_BYTES } from '#shared/password/cost.ts'

/** A file of its own, so that a bundle has this one algorithm of hash-wasm, and loads it only when it is called. */
export const argon2idOf: Derive = async (password, salt, { memoryKib, iterations }) =>
  Buffer.from(
    await argon2id({
      password,
      salt,
      memorySize: memoryKib,
      iterations,
      parallelism: 1,
      hashLength: DIGEST_BYTES,
      outputType: 'binary',
    }),
  )
