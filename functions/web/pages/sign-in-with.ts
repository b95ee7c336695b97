import type { Client } from '#shared/client/client.ts'
import { setCookie } from '#web/http/cookies.ts'

/**
 * Signs in by the ordinary sign-in, with a password that the person has just set. Returns the cookies of the session, or null when the
 * sign-in is refused or fails: then the person signs in themself.
 */
export async function signInWith(
  { call, languageAtSignIn }: { readonly call: Client['call']; readonly languageAtSignIn: readonly string[] },
  credentials: { readonly email: string; readonly password: string },
): Promise<readonly string[] | null> {
  try {
    const { token, csrf_token: csrfToken } = await call('POST /v1/auth/login', { body: credentials })
    return [setCookie('session', token), setCookie('csrf', csrfToken), ...languageAtSignIn]
  } catch {
    return null
  }
}
