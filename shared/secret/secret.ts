import { createHmac, hash, randomBytes } from 'node:crypto'
import type { Pepper } from '#shared/secret/token-secrets.ts'

/** Returns 256 random bits as 43 characters of base64url, for a session token. */
export const newToken = (): string => randomBytes(32).toString('base64url')

/** What a token looks like. Match the text as sent, and hash that text: base64url spells the same bytes in several ways. */
export const TOKEN_PATTERN = /^[A-Za-z0-9_-]{43}$/

/** Returns the hash that a token is stored under: SHA-256 of the pepper followed by the token's text. 32 bytes. */
export const hashToken = (pepper: string, token: string): Buffer => hash('sha256', pepper + token, 'buffer')

/** The hashes that a token may be stored under: by the current pepper and, during a rotation, by the previous one. */
export type TokenHashes = readonly [current: Buffer, previous: Buffer | null]

export const tokenHashes = ({ pepper, pepperPrevious }: Pepper, token: string): TokenHashes => [
  hashToken(pepper, token),
  pepperPrevious === undefined ? null : hashToken(pepperPrevious, token),
]

/**
 * Returns a hash of a personal value (the address of a client, an email). Without the pepper, trying all values does not
 * reverse it, as it would reverse a plain SHA-256 of an IPv4 address. Each label has hashes of its own. 32 bytes.
 */
export const keyedHash = (pepper: string, label: string, value: string): Buffer =>
  createHmac('sha256', pepper).update(label).update('\0').update(value).digest()
