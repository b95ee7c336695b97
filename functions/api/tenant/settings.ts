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

const SECRET = /password|passwd|passphrase|secret|token|apikey|privatekey|credential/

/** Returns the word for a secret in the name of a key, in any spelling: `smtp_password`, `API-Key`, `clientSecret`. */
const secretIn = (name: string): string | undefined =>
  SECRET.exec(
    name
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]/gu, ''),
  )?.[0]

/** Returns what is wrong with a key or a value at any depth, without repeating it, or null. */
function faultIn(value: unknown): Fault | null {
  if (typeof value === 'string')
    return isStorable(value) ? null : { code: 'not-storable', must: 'have only text that can be stored' }
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : { code: 'not-storable', must: 'have only numbers that can be stored' }
  if (typeof value !== 'object' || value === null) return null
  for (const [name, part] of Object.entries(value)) {
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
