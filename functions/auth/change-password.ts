import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { invalid, unauthorized } from '#shared/http/problem.ts'
import { noContent } from '#shared/http/reply.ts'
import { hashPassword, verifyPassword } from '#shared/password/argon2.ts'
import { commonPasswords } from '#shared/password/common-passwords.ts'
import { normalize, SentPassword, weakness } from '#shared/password/password.ts'
import { isPwned } from '#shared/password/pwned-passwords.ts'
import { keyedHash } from '#shared/secret/secret.ts'
import { findAccount, replacePassword, revokeOtherSessions } from './queries.ts'

const rejected = (detail: string) => invalid([{ pointer: '#/new_password', detail }], 'password-rejected')

export const changePassword = endpoint({
  route: 'POST /v1/auth/password/change',
  access: 'session',
  body: v.object({ current_password: SentPassword, new_password: SentPassword }),
  limits: ({ caller, config, pepper }) => [
    {
      name: 'password-change',
      subject: keyedHash(pepper, 'password-change', caller?.user.id ?? ''),
      limit: config.login.emailLimit,
      windowSeconds: config.login.windowSeconds,
    },
  ],
  async handle({ body, caller, sql, runtime: { config, database } }) {
    const { session, user, tenant } = caller
    const password = normalize(body.new_password)
    const common = await commonPasswords()
    const weak = weakness(password, {
      minLength: config.password.minLength,
      known: [user.email, user.full_name, tenant?.slug ?? null, tenant?.legal_name ?? null],
      isCommon: (lowerCase) => common.has(lowerCase),
    })
    if (weak !== null) throw rejected(weak)
    const verifiedHash = (await findAccount(sql, user.email))?.password_hash ?? null
    const verified = await verifyPassword(normalize(body.current_password), verifiedHash, config.argon2)
    if (verifiedHash === null || !verified) {
      throw invalid([{ pointer: '#/current_password', detail: 'is not the current password' }])
    }
    if (await isPwned(password, config.password.pwnedPasswordsUrl)) throw rejected('is known from a breach')
    const newHash = await hashPassword(password, config.argon2)
    await database.transaction('read write', async (tx) => {
      const replaced = await replacePassword(tx, { userId: user.id, sessionId: session.id, verifiedHash, newHash })
      if (!replaced) throw unauthorized('the session or the password changed meanwhile', true)
      await revokeOtherSessions(tx, user.id, session.id)
    })
    return noContent()
  },
})
