import * as v from 'valibot'
import { COOKIES, deleteCookie, MAX_COOKIE_LENGTH, setCookie } from '#web/http/cookies.ts'
import { isSame, personField } from '#web/http/csrf.ts'
import { formAddress } from '#web/http/form-address.ts'
import { typedValues } from '#web/http/form-data.ts'
import { given, type WebState } from '#web/http/request.ts'
import { seal, unseal } from '#web/http/sealed.ts'
import { PERSON_FIELD } from '#web/view/form.ts'

const Typed = v.object({
  /** The address that the form was sent to. */
  to: v.string(),
  /** The page that shows it. */
  at: v.string(),
  /** The field that names the person whom it was shown to. */
  person: v.string(),
  /** What they typed, without secrets. Null when it was too much for a cookie. */
  values: v.nullable(v.record(v.string(), v.string())),
  /** The millisecond until which it can be shown again. */
  until: v.number(),
})
type Typed = v.InferOutput<typeof Typed>

const PURPOSE = 'typed'

/**
 * Keeps what a form says that is not done, so that its page shows it again to the same person: they may have to sign in or to
 * change the shop first. Requires that the browser says that our own page sent the form.
 */
export function keepTyped(state: WebState): void {
  const { form, fromOurPage, runtime, matched, path } = state
  const person = form?.get(PERSON_FIELD) ?? ''
  if (form === null || !fromOurPage || runtime === null || matched === null || person === '') return
  const until = Date.now() + COOKIES.typed.maxAgeSeconds * 1000
  const typed = { to: path, at: formAddress(state), person, until }
  const sealed = seal(runtime.webKey, PURPOSE, { ...typed, values: typedValues(form, matched.page) })
  const fits = sealed.length <= MAX_COOKIE_LENGTH - COOKIES.typed.name.length
  state.setCookies.push(setCookie('typed', fits ? sealed : seal(runtime.webKey, PURPOSE, { ...typed, values: null })))
}

function readTyped({ cookies, runtime }: WebState): Typed | null {
  const sealed = cookies.get('typed')
  if (sealed === undefined) return null
  const typed = v.safeParse(Typed, unseal(given(runtime).webKey, PURPOSE, sealed))
  return typed.success && typed.output.until > Date.now() ? typed.output : null
}

/** Returns what the person of the session typed into a form of this page that was not done, or null. */
export function typedHere(state: WebState): Pick<Typed, 'values'> | null {
  const typed = state.session === null ? null : readTyped(state)
  if (typed === null || typed.at !== state.path) return null
  return isSame(typed.person, personField(given(state.runtime).webKey, given(state.session).user.id)) ? typed : null
}

/** Forgets what was kept of a form that is done now. */
export function forgetTyped(state: WebState): void {
  if (state.cookies.has('typed') && readTyped(state)?.to === state.path) state.setCookies.push(deleteCookie('typed'))
}
