import type { Config } from '#shared/config.ts'
import { invalid } from '#shared/problem.ts'
import { hashPassword } from '#shared/password/argon2.ts'
import { commonPasswords } from '#shared/password/common-passwords.ts'
import { normalize, weakness } from '#shared/password/password.ts'
import { isPwned } from '#shared/password/pwned-passwords.ts'

/** A new password, where it stood in the body, and what it may not be: names and addresses of the person and the shop. */
export interface NewPassword {
  readonly sent: string
  readonly pointer: string
  readonly known: readonly (string | null)[]
}

const rejected = ({ pointer }: NewPassword, detail: string) => invalid([{ pointer, detail }], 'password-rejected')

/** Throws 422 `password-rejected` for a password that the rules refuse. Costs no hash, and asks nobody else. */
export async function refuseWeak(password: NewPassword, config: Config): Promise<void> {
  const common = await commonPasswords()
  const weak = weakness(normalize(password.sent), {
    minLength: config.password.minLength,
    known: password.known,
    isCommon: (lowerCase) => common.has(lowerCase),
  })
  if (weak !== null) throw rejected(password, weak)
}

/** The hash of a password that the rules accept and no breach has made known; throws 422 `password-rejected` otherwise. */
export async function hashNewPassword(password: NewPassword, config: Config): Promise<string> {
  await refuseWeak(password, config)
  const normal = normalize(password.sent)
  if (await isPwned(normal, config.password.pwnedPasswordsUrl)) throw rejected(password, 'is known from a breach')
  return hashPassword(normal, config.argon2)
}
