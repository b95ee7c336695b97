import { hash } from 'node:crypto'
import { secretBytes } from '#shared/factor/totp.ts'
import { encodings } from './encodings.ts'

/** Returns the forms of a code, with and without its hyphens. A hash without a key is a form too. One of a few characters is none: it stands in a dump by chance. */
export function codeEncodings(code: string): string[] {
  const plain = code.replaceAll('-', '')
  return [code, plain, plain.toLowerCase()]
    .flatMap((form) => Object.values(encodings(form)).concat(hash('sha256', form), hash('sha256', form, 'base64')))
    .filter(({ length }) => length >= 8)
}

/** Returns the forms of the secret of an authenticator app. */
export const secretEncodings = (secret: string): string[] => {
  const bytes = secretBytes(secret)
  return [...codeEncodings(secret), bytes.toString('hex'), bytes.toString('base64').slice(0, 24), hash('sha256', bytes)]
}

/** Returns which forms a text contains, in any case. */
export const found = (needles: readonly string[], text: string): string[] => {
  const lower = text.toLowerCase()
  return needles.filter((needle) => lower.includes(needle.toLowerCase()))
}
