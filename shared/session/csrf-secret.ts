import { createHmac, createSecretKey, randomBytes } from 'node:crypto'

/** The CSRF secret of a session. Its field is private, so no log contains it. */
export class CsrfSecret {
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array = randomBytes(32)) {
    this.#bytes = bytes
  }

  /** Passes the bytes to a statement. */
  present<T>(statement: (bytes: Uint8Array) => T): T {
    return statement(this.#bytes)
  }

  /** Returns the session's `csrf_token`, which the forms of a front end carry. */
  tokenOf(sessionId: string): string {
    // Node examines bytes that are no key object for 25 µs (24.21).
    return createHmac('sha256', createSecretKey(this.#bytes)).update(sessionId).digest('base64url')
  }
}
