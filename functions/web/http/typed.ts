import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import * as v from 'valibot'
import { COOKIES, deleteCookie, MAX_COOKIE_LENGTH, setCookie } from '#web/http/cookies.ts'
import { isSame, personField } from '#web/http/csrf.ts'
import { formAddress } from '#web/http/form-address.ts'
import { typedValues } from '#web/http/form-data.ts'
import { given, type WebState } from '#web/http/request.ts'
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

const NONCE_BYTES = 12
const TAG_BYTES = 16

const keyOf = (webKey: string): Buffer => createHmac('sha256', webKey).update('typed').digest()

function seal(webKey: string, typed: Typed): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keyOf(webKey), nonce)
  const sealed = Buffer.concat([cipher.update(JSON.stringify(typed)), cipher.final()])
  return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64url')
}

function open(webKey: string, text: string): Typed | null {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length <= NONCE_BYTES + TAG_BYTES) return null
  try {
    const decipher = createDecipheriv('aes-256-gcm', keyOf(webKey), bytes.subarray(0, NONCE_BYTES))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    const plain = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    return v.parse(Typed, JSON.parse(plain))
  } catch {
    return null
  }
}

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
  const sealed = seal(runtime.webKey, { ...typed, values: typedValues(form) })
  const fits = sealed.length <= MAX_COOKIE_LENGTH - COOKIES.typed.name.length
  state.setCookies.push(setCookie('typed', fits ? sealed : seal(runtime.webKey, { ...typed, values: null })))
}

function readTyped({ cookies, runtime }: WebState): Typed | null {
  const sealed = cookies.get('typed')
  const typed = sealed === undefined ? null : open(given(runtime).webKey, sealed)
  return typed !== null && typed.until > Date.now() ? typed : null
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
