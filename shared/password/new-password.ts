import type { Config } from '#shared/config.ts'
import { invalid } from '#shared/problem.ts'
import { hashPassword } from '#shared/password/argon2.ts'
import { commonPasswords } from '#shared/password/common-passwords.ts'
import { normalize, weakness } from '#shared/password/password.ts'
import { isPwned } from '#shared/password/pwned-passwords.ts'

/** A new password, its JSON pointer in the body, and what it must not equal: names and addresses of user and tenant. */
export interface NewPassword {
  readonly sent: string
  readonly pointer: string
  readonly known: readonly (string | null)[]
}

const rejected = ({ pointer }: NewPassword, detail: string) => invalid([{ pointer, detail }], 'password-rejected')

/** Throws 422 `password-rejected` if the password breaks a rule. Computes no hash and calls no other service. */
export async function refuseWeak(password: NewPassword, config: Config): Promise<void> {
  const common = await commonPasswords()
  const weak = weakness(normalize(password.sent), {
    minLength: config.password.minLength,
    known: password.known,
    isCommon: (lowerCase) => common.has(lowerCase),
  })
  if (weak !== null) throw rejected(password, weak)
}

/** Returns the hash of a new password. Throws 422 `password-rejected` if it breaks a rule or is in a known breach. */
export async function hashNewPassword(password: NewPassword, config: Config): Promise<string> {
  await refuseWeak(password, config)
  const normal = normalize(password.sent)
  if (await isPwned(normal, config.password.pwnedPasswordsUrl)) throw rejected(password, 'is known from a breach')
  return hashPassword(normal, config.argon2)
}
