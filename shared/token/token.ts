import { createHmac, randomBytes } from 'node:crypto'
import * as v from 'valibot'
import { TOKEN_PATTERN, hashToken } from '#shared/secret/secret.ts'
import type { ServiceSecret } from '#shared/secret/service-secret.ts'

export type TokenPurpose = 'email_verify' | 'invite' | 'password_reset'

/** What a mail's job keeps in place of the token: 128 random bits, as text. */
export const newNonce = (): string => randomBytes(16).toString('base64url')

/**
 * The single-use token of a nonce, the same every time, so that a mail sent twice carries one link. The key is in no
 * store, so the job and a dump of the database hold nothing that opens anything.
 */
export const mailToken = (mailKey: string, purpose: TokenPurpose, nonce: string): string =>
  createHmac('sha256', mailKey).update(purpose).update('\0').update(nonce).digest('base64url')

/** A token and the key under which it is stored. */
export interface StoredToken {
  readonly token: string
  readonly hash: Buffer
}

/**
 * The token of a nonce by every mail key and pepper in use, first by the present ones: which of them it was stored under
 * depends on when that was.
 */
export const mailTokens = (
  { pepper, pepperPrevious, mailKey, mailKeyPrevious }: ServiceSecret,
  purpose: TokenPurpose,
  nonce: string,
): readonly [StoredToken, ...StoredToken[]] => {
  const stored = (key: string, by: string): StoredToken => {
    const token = mailToken(key, purpose, nonce)
    return { token, hash: hashToken(by, token) }
  }
  const given = (secret: string | undefined): string[] => (secret === undefined ? [] : [secret])
  const keys = [mailKey, ...given(mailKeyPrevious)]
  const [, ...others] = keys.flatMap((key) => [pepper, ...given(pepperPrevious)].map((by) => stored(key, by)))
  return [stored(mailKey, pepper), ...others]
}

/** A single-use token as it is sent back. One that cannot be one is `token-invalid` like any unknown one. */
export const SentToken = v.pipe(
  v.string('must be a string'),
  v.maxLength(1000, 'must have at most 1000 characters'),
  v.examples(['pQ0s3v5x7zAbCdEfGhIjKlMnOpQrStUvWxYz0123456']),
)

export const isToken = (text: string): boolean => TOKEN_PATTERN.test(text)
