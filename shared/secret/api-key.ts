import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const PREFIX = 'tnk_'
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6

/** What an API key looks like. Scanners of repositories read it from the README of the client. */
export const API_KEY_PATTERN = /^tnk_[0-9A-Za-z]{49}$/

/** Returns 256 random bits as an API key: `tnk_`, 43 characters of base62, and their CRC-32 as 6 more. */
export function newApiKey(): string {
  const secret = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_LENGTH)
  return PREFIX + secret + checksumOf(secret)
}

/** Returns whether the text has the form of an API key and its checksum. Nothing is looked up. */
export function isApiKey(text: string): boolean {
  if (!API_KEY_PATTERN.test(text)) return false
  const end = PREFIX.length + SECRET_LENGTH
  return text.slice(end) === checksumOf(text.slice(PREFIX.length, end))
}

/** Returns the part of a key by which people recognize it: its last four characters. */
export const hintOf = (key: string): string => key.slice(-4)

/** Returns the text without the secrets of API keys, whole or cut off. */
export const withoutApiKeys = (text: string): string => text.replaceAll(/tnk_[0-9A-Za-z]{5,}/g, 'tnk_REDACTED')

const checksumOf = (secret: string): string => base62(BigInt(crc32(secret)), CHECKSUM_LENGTH)

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = DIGITS.charAt(Number(rest % 62n)) + text
  return text
}
