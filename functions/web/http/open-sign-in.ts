import * as v from 'valibot'
import { deleteCookie, setCookie } from '#web/http/cookies.ts'
import { linkField } from '#web/http/csrf.ts'
import type { OpenSignIn, OwedFactor } from '#web/http/me.ts'
import { given, type WebState } from '#web/http/request.ts'
import { seal, unseal } from '#web/http/sealed.ts'

// An earlier release kept no `hasApp`.
const Kept = v.object({ token: v.string(), email: v.string(), hasApp: v.optional(v.boolean(), true) })
const PURPOSE = 'sign-in'

/** Returns the open sign-in of the browser, or null. */
export function openSignInOf(state: WebState): OpenSignIn | null {
  const sealed = state.cookies.get('signIn')
  if (sealed === undefined) return null
  const { webKey } = given(state.runtime)
  const kept = v.safeParse(Kept, unseal(webKey, PURPOSE, sealed))
  if (!kept.success) return null
  const { token } = kept.output
  return { ...kept.output, field: linkField(webKey, state.formSecret, { route: PURPOSE, token }) }
}

/** Keeps an open sign-in, and returns the address of the page that asks for the factor. */
export function keepOpenSignIn(state: WebState, owed: OwedFactor, email: string): string {
  const hasApp = owed.methods.includes('totp')
  const kept = { token: owed.sign_in_token, email, hasApp }
  state.setCookies.push(setCookie('signIn', seal(given(state.runtime).webKey, PURPOSE, kept)))
  return hasApp ? '/sign-in/second-factor' : '/sign-in/recovery-code'
}

export const forgetOpenSignIn = (): string => deleteCookie('signIn')
