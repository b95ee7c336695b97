import crypto from 'node:crypto'
import { promisify } from 'node:util'
import { type Derive, DIGEST_BYTES } from '#shared/password/cost.ts'

/** Computes it with OpenSSL, in another thread. Null if this Node.js has no `crypto.argon2`, which came with 24.7. */
export const deriveByOpenSsl: Derive | null = typeof crypto.argon2 === 'function' ? byOpenSsl(crypto.argon2) : null

/** What computes the hashes of passwords in this process. */
export const ARGON2 = deriveByOpenSsl === null ? 'wasm' : 'openssl'

function byOpenSsl(argon2: typeof crypto.argon2): Derive {
  const argon2Async = promisify(argon2)
  return (password, salt, { memoryKib, iterations }) =>
    argon2Async('argon2id', {
      message: password,
      nonce: salt,
      parallelism: 1,
      tagLength: DIGEST_BYTES,
      memory: memoryKib,
      passes: iterations,
    })
}

/** Computes it in WebAssembly, which is loaded at the first call. Blocks the thread, and takes about twice as long as OpenSSL. */
export const deriveByWasm: Derive = async (password, salt, cost) => {
  const { argon2idOf } = await import('#shared/password/argon2-wasm.ts')
  return argon2idOf(password, salt, cost)
}

export const derive: Derive = (password, salt, cost) => (deriveByOpenSsl ?? deriveByWasm)(password, salt, cost)
