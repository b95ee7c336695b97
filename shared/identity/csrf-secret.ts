import { hash, randomBytes } from 'node:crypto'

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

  /**
   * Returns the session's `csrf_token`, which the forms of a front end carry: SHA-256 of the secret and the id. Every secret has
   * one length and every id too, so nobody can extend a token, and HMAC would add hashes without protection.
   */
  tokenOf(sessionId: string): string {
    return hash('sha256', Buffer.concat([this.#bytes, Buffer.from(sessionId)]), 'base64url')
  }
}
