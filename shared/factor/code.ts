import { createHmac, randomBytes } from 'node:crypto'
import * as v from 'valibot'
import type { StoredToken } from '#shared/identity/token.ts'
import { fault } from '#shared/schema/fault.ts'
import { hashToken, type TokenHashes } from '#shared/secret/secret.ts'
import type { Pepper, TokenSecrets } from '#shared/secret/token-secrets.ts'

// Crockford's base32 has no I, L, O and U: https://www.crockford.com/base32.html
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
// OWASP ASVS 5.0, 6.5.2: from 112 bits on, a plain hash is enough.
const RECOVERY_BYTES = 15
const RECOVERY_LENGTH = 24
const SETUP_BYTES = 5
const SETUP_LENGTH = 8
const GROUP_LENGTH = 4
/** How many recovery codes a user gets. */
export const RECOVERY_CODES = 10

function crockford(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{5}/g) ?? []).map((five) => CROCKFORD[Number.parseInt(five, 2)]).join('')
}

const grouped = (text: string): string => (text.match(new RegExp(`.{${GROUP_LENGTH}}`, 'g')) ?? []).join('-')

/** Returns the one spelling of a code that people typed: blanks, hyphens, case, O for 0, and I or L for 1 do not matter. */
const plain = (typed: string): string =>
  typed.replaceAll(/[\s-]/g, '').toUpperCase().replaceAll('O', '0').replaceAll(/[IL]/g, '1')

/** Returns ten new recovery codes, each with 120 random bits in six groups of four characters. */
export const newRecoveryCodes = (): string[] =>
  Array.from({ length: RECOVERY_CODES }, () => grouped(crockford(randomBytes(RECOVERY_BYTES))))

/** Returns the setup code of a mail's nonce. Without the mail key, nobody can derive it. */
export const setupCode = (mailKey: string, nonce: string): string =>
  grouped(
    crockford(createHmac('sha256', mailKey).update('factor_setup\0').update(nonce).digest().subarray(0, SETUP_BYTES)),
  )

/** Derives the setup code of a nonce for every active mail key and pepper, current ones first, with the hash that it is stored under. */
export const setupCodes = (
  { mailKey, mailKeyPrevious, ...peppers }: TokenSecrets,
  userId: string,
  nonce: string,
): readonly StoredToken[] =>
  [mailKey, ...(mailKeyPrevious === undefined ? [] : [mailKeyPrevious])].flatMap((key) => {
    const token = setupCode(key, nonce)
    return factorCodeHashes(peppers, userId, token).flatMap((hash) => (hash === null ? [] : [{ token, hash }]))
  })

// A pattern of what people type would have to allow for blanks anywhere.
const typedCode = (length: number, example: string) =>
  v.pipe(
    v.string(),
    v.maxLength(100, fault({ code: 'wrong-format', format: 'a code of the service' })),
    v.examples([example]),
    v.transform(plain),
    v.regex(
      new RegExp(`^[${CROCKFORD}]{${length}}$`),
      fault({ code: 'wrong-format', format: 'a code of the service' }),
    ),
  )

/** A recovery code in a request. */
export const SentRecoveryCode = typedCode(RECOVERY_LENGTH, '7H3K-0QXW-9M2C-VB4T-5ZRE-1NPD')

/** A setup code in a request. */
export const SentSetupCode = typedCode(SETUP_LENGTH, '4TQ7-92KM')

/** A code of an authenticator app in a request. Blanks do not matter. */
export const SentTotpCode = v.pipe(
  v.string(),
  v.maxLength(100, fault({ code: 'wrong-format', format: 'six digits' })),
  v.examples(['492039']),
  v.transform((typed) => typed.replaceAll(/\s/g, '')),
  v.regex(/^\d{6}$/, fault({ code: 'wrong-format', format: 'six digits' })),
)

/**
 * Returns the hashes that a code may be stored under. They contain the user: a setup code is short, and two users may have the
 * same. `code` is in its one spelling.
 */
export const factorCodeHashes = ({ pepper, pepperPrevious }: Pepper, userId: string, code: string): TokenHashes => [
  hashToken(pepper, `${userId} ${plain(code)}`),
  pepperPrevious === undefined ? null : hashToken(pepperPrevious, `${userId} ${plain(code)}`),
]
