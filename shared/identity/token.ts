import { createHmac, randomBytes } from 'node:crypto'
import * as v from 'valibot'
import { TOKEN_PATTERN, hashToken } from '#shared/secret/secret.ts'
import type { TokenSecrets } from '#shared/secret/token-secrets.ts'

export type TokenPurpose = 'email_verify' | 'factor_reset_cancel' | 'invite' | 'password_reset'

/** Returns 128 random bits as text. The job of an email stores this nonce instead of the token. */
export const newNonce = (): string => randomBytes(16).toString('base64url')

/**
 * Derives the single-use token of a nonce. The same nonce gives the same token, so an email that is sent twice has one
 * link. For any but an invitation, the nonce contains the id of the mail's job. The mail key is not in the database, so a job or a database dump reveals no valid token.
 */
export const mailToken = (mailKey: string, purpose: TokenPurpose, nonce: string): string =>
  createHmac('sha256', mailKey).update(purpose).update('\0').update(nonce).digest('base64url')

/** A token and the hash that it is stored under. */
export interface StoredToken {
  readonly token: string
  readonly hash: Buffer
}

/**
 * Derives the nonce's token for every active mail key and pepper, current ones first. During a rotation the stored hash
 * may come from any of them.
 */
export const mailTokens = (
  { pepper, pepperPrevious, mailKey, mailKeyPrevious }: TokenSecrets,
  purpose: TokenPurpose,
  nonce: string,
): readonly [StoredToken, ...StoredToken[]] => {
  const stored = (key: string, activePepper: string): StoredToken => {
    const token = mailToken(key, purpose, nonce)
    return { token, hash: hashToken(activePepper, token) }
  }
  const given = (secret: string | undefined): string[] => (secret === undefined ? [] : [secret])
  const keys = [mailKey, ...given(mailKeyPrevious)]
  const [, ...others] = keys.flatMap((key) => [pepper, ...given(pepperPrevious)].map((by) => stored(key, by)))
  return [stored(mailKey, pepper), ...others]
}

/** A single-use token in a request. A malformed token gets the same `token-invalid` as an unknown one. */
export const SentToken = v.pipe(
  v.string(),
  v.maxLength(1000),
  v.examples(['pQ0s3v5x7zAbCdEfGhIjKlMnOpQrStUvWxYz0123456']),
)

/** Returns whether the text has the form of a token. */
export const isToken = (text: string): boolean => TOKEN_PATTERN.test(text)
