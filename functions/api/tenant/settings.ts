import * as v from 'valibot'
import type { Fault } from '#shared/schema/field-error.ts'
import { fault } from '#shared/schema/fault.ts'
import { isStorable } from '#shared/schema/text.ts'

const MAX_BYTES = 16 * 1024

/** The preferences of a tenant: any JSON object. */
export type Settings = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Settings =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the target with a merge patch applied (RFC 7396): null removes a key, an object is merged, any other value replaces. */
export function mergePatch(target: unknown, patch: Settings): Settings {
  const merged = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name)
    else merged.set(name, isObject(value) ? mergePatch(merged.get(name), value) : value)
  }
  return Object.fromEntries(merged)
}

/** Returns whether the settings are small enough to be stored. */
export const fit = (settings: Settings): boolean => Buffer.byteLength(JSON.stringify(settings)) <= MAX_BYTES

const SECRET =
  /password|passwd|passphrase|passcode|passkey|pwd|secret|token|credential|authorization|bearer|(?:api|private|access|signing|encryption|master|shared|auth|ssh|hmac|session)key/
// Short words for a secret are parts of other words, so they count as the last word of a key: `pin`, `smtp_pw`, `mailPass`.
const SHORT_SECRET = /(?:^|[^a-z])(pass|pw|pin|otp)$/

// Letters that look like a Latin one, after NFKD without marks, in lower case.
const LIKE_LATIN = new Map(
  Object.entries({
    а: 'a',
    с: 'c',
    ԁ: 'd',
    е: 'e',
    һ: 'h',
    і: 'i',
    ј: 'j',
    к: 'k',
    ӏ: 'l',
    о: 'o',
    р: 'p',
    ԛ: 'q',
    ѕ: 's',
    т: 't',
  })
    .concat(
      Object.entries({
        ѵ: 'v',
        ԝ: 'w',
        х: 'x',
        у: 'y',
        α: 'a',
        ε: 'e',
        η: 'n',
        ι: 'i',
        κ: 'k',
        ν: 'v',
        ο: 'o',
        ρ: 'p',
        τ: 't',
      }),
    )
    .concat(
      Object.entries({
        υ: 'u',
        χ: 'x',
        γ: 'y',
        ω: 'w',
        ı: 'i',
        ɡ: 'g',
        ɑ: 'a',
        ո: 'n',
        ѡ: 'w',
        օ: 'o',
        ѐ: 'e',
        п: 'n',
        г: 'r',
      }),
    ),
)

/** Returns a name in small Latin letters, with a line between its words: `smtpPassword` is `smtp_password`. */
const plainOf = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, '_')
    .toLowerCase()
    .replace(/\P{ASCII}/gu, (letter) => LIKE_LATIN.get(letter) ?? letter)

/** Returns the word for a secret in the name of a key, in any spelling: `smtp_password`, `API-Key`, `clientSecret`. */
function secretIn(name: string): string | undefined {
  const plain = plainOf(name)
  return (
    SECRET.exec(plain.replace(/[^\p{L}\p{N}]/gu, ''))?.[0] ?? SHORT_SECRET.exec(plain.replace(/[^\p{L}]+$/u, ''))?.[1]
  )
}

/** Returns what is wrong with a key or a value at any depth, without repeating it, or null. */
function faultIn(value: unknown): Fault | null {
  if (typeof value === 'string')
    return isStorable(value) ? null : { code: 'not-storable', must: 'have only text that can be stored' }
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : { code: 'not-storable', must: 'have only numbers that can be stored' }
  if (typeof value !== 'object' || value === null) return null
  for (const [name, part] of Object.entries(value)) {
    // Code that copies objects key by key would change the prototype of the copy.
    if (name === '__proto__') return { code: 'not-storable', must: 'have no key __proto__' }
    const secret = secretIn(name)
    if (secret !== undefined)
      return { code: 'not-storable', must: `hold no secrets, but has a key that contains ${secret}` }
    const found = faultIn(name) ?? faultIn(part)
    if (found !== null) return found
  }
  return null
}

/** A merge patch of settings. */
export const SettingsPatch = v.pipe(
  v.custom<Settings>(isObject, fault({ code: 'wrong-type', type: 'an object' })),
  v.metadata({ type: 'object', additionalProperties: true }),
  v.rawCheck(({ dataset, addIssue }) => {
    const found = dataset.typed ? faultIn(dataset.value) : null
    if (found !== null) addIssue({ message: fault(found) })
  }),
  v.examples([{ artwork_due_days: 3, theme: { accent: 'navy' } }]),
)
