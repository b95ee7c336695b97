import type { Config } from '#shared/base/config.ts'
import type { Fault } from '#shared/schema/field-error.ts'
import { invalid } from '#shared/base/problem.ts'
import { hashPassword } from '#shared/password/argon2.ts'
import { passwordGuesses } from '#shared/password/password-guesses.ts'
import { normalize, weakness } from '#shared/password/password.ts'
import { isPwned } from '#shared/password/pwned-passwords.ts'

/** A new password, its JSON pointer in the body, and what it must not resemble: names and addresses of user and tenants. */
export interface NewPassword {
  readonly sent: string
  readonly pointer: string
  readonly known: readonly (string | null)[]
}

/**
 * Returns the hash of a new password. Throws 422 `password-rejected`, and computes no hash, if it breaks a rule or is in a
 * known breach.
 */
export async function hashNewPassword({ sent, pointer, known }: NewPassword, config: Config): Promise<string> {
  const rejected = (fault: Fault) => invalid([{ pointer, ...fault }], 'password-rejected')
  const { minLength, pwnedPasswordsUrl } = config.password
  const password = normalize(sent)
  const weak = weakness(password, { minLength, known, guesses: await passwordGuesses() })
  if (weak !== null) throw rejected(weak)
  if (await isPwned(password, pwnedPasswordsUrl)) throw rejected({ code: 'breached' })
  return hashPassword(password, config.argon2)
}
