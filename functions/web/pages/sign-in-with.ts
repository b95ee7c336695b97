import type { Client } from '#shared/client/client.ts'
import { setCookie } from '#web/http/cookies.ts'

/**
 * Signs in by the ordinary sign-in, with a password that the person has just set. Returns the cookies of the session, or null when the
 * sign-in is refused, fails or owes a second factor: then the person signs in themself.
 */
export async function signInWith(
  { call, languageAtSignIn }: { readonly call: Client['call']; readonly languageAtSignIn: readonly string[] },
  credentials: { readonly email: string; readonly password: string },
): Promise<readonly string[] | null> {
  try {
    const reply = await call('POST /v1/auth/login', { body: credentials })
    if ('second_factor' in reply) return null
    return [setCookie('session', reply.token), setCookie('csrf', reply.csrf_token), ...languageAtSignIn]
  } catch {
    return null
  }
}
