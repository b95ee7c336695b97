import { TOKEN_PATTERN, type TokenHashes, tokenHashes } from '#shared/secret/secret.ts'
import type { Pepper } from '#shared/secret/token-secrets.ts'

/** What a service key may be for. Each is what the functions of migration 0023 ask the key for. */
export const SERVICE_SCOPES = ['introspect', 'changes', 'memberships'] as const

export type ServiceScope = (typeof SERVICE_SCOPES)[number]

/** What the name of a service looks like. */
export const SERVICE_NAME = /^[a-z][a-z0-9-]{0,62}$/

/** The name and the secret that a service sent. Nobody has checked them. Its field is private, so no log contains the secret. */
export class SentServiceKey {
  readonly name: string
  readonly #secret: string

  constructor(name: string, secret: string) {
    this.name = name
    this.#secret = secret
  }

  /** Returns the hashes that the key may be stored under. */
  hashes(pepper: Pepper): TokenHashes {
    return tokenHashes(pepper, this.#secret)
  }
}

/** Returns the service key in these values of `Authorization`, or null unless it is well-formed and alone. */
export function sentServiceKey(credentials: readonly string[]): SentServiceKey | null {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(credentials[0] ?? '') ?? []
  if (encoded === undefined || credentials.length > 1) return null
  const [name, secret, ...rest] = Buffer.from(encoded, 'base64').toString().split(':').map(formDecoded)
  if (name === undefined || secret === undefined || rest.length > 0) return null
  return SERVICE_NAME.test(name) && TOKEN_PATTERN.test(secret) ? new SentServiceKey(name, secret) : null
}

// https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1: name and secret are each encoded as in a form. No name and no secret has a
// character that means another one without the encoding, so a client that leaves it out is understood too.
function formDecoded(part: string): string {
  try {
    return decodeURIComponent(part.replaceAll('+', ' '))
  } catch {
    return ''
  }
}
