import { createHash, createHmac, randomBytes } from 'node:crypto'

/** 256 bits from the system's generator, as 43 characters of base64url: a session token or a single-use token. */
export const newToken = (): string => randomBytes(32).toString('base64url')

/** What a token looks like. Match the text as sent, and hash that text: base64url spells the same bytes in several ways. */
export const TOKEN_PATTERN = /^[A-Za-z0-9_-]{43}$/

/** The key under which a token is stored: SHA-256 of the pepper followed by the token's text. 32 bytes. */
export const hashToken = (pepper: string, token: string): Buffer =>
  createHash('sha256').update(pepper).update(token).digest()

/** What tokens are made and found with; in no store but Secrets Manager. A second one of a kind is there during a change. */
export interface TokenSecrets {
  /** Token keys and hashes of addresses depend on it. */
  readonly pepper: string
  /** Tokens are found by this one too; nothing is stored by it. */
  readonly pepperPrevious?: string | undefined
  /** Single-use tokens are derived with it. */
  readonly mailKey: string
  /** What waits to be mailed may have been derived with this one. */
  readonly mailKeyPrevious?: string | undefined
}

/** The keys under which a token may be stored: by the present pepper, and by the other one while there are two. */
export type TokenHashes = readonly [present: Buffer, previous: Buffer | null]

export const tokenHashes = (
  { pepper, pepperPrevious }: Pick<TokenSecrets, 'pepper' | 'pepperPrevious'>,
  token: string,
): TokenHashes => [hashToken(pepper, token), pepperPrevious === undefined ? null : hashToken(pepperPrevious, token)]

/**
 * A hash of a personal value (an address of a client, an email) that cannot be reversed by trying all values, as a plain
 * SHA-256 of an IPv4 address can. The label keeps the uses apart. 32 bytes.
 */
export const keyedHash = (pepper: string, label: string, value: string): Buffer =>
  createHmac('sha256', pepper).update(label).update('\0').update(value).digest()
