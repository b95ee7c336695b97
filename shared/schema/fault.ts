import type * as v from 'valibot'
import { detailOf, type Fault } from '#shared/schema/field-error.ts'

/**
 * Returns the message of a check: the fault of a value that fails it. Every check of a request has such a message, except those
 * that valibot itself names, such as `v.string()` and `v.minValue(1)`.
 */
export const fault = (of: Fault): string => JSON.stringify(of)

/** Returns the fault of an issue of a request's schema. It repeats nothing of the value. */
export function faultOf(issue: v.BaseIssue<unknown>): Fault {
  if (isUnknownKey(issue)) return { code: 'unknown-field' }
  if (issue.received === 'undefined') return { code: 'required' }
  return named(issue) ?? byType(issue)
}

/** Returns whether the issue is a key that a strict object does not have. */
export const isUnknownKey = ({ expected }: v.BaseIssue<unknown>): boolean => expected === 'never'

/** Returns the sentence of an issue of a schema that may also have messages of its own. */
export function sentenceOf(issue: v.BaseIssue<unknown>): string {
  const own = named(issue)
  if (own !== null) return detailOf(own)
  return issue.message.startsWith('Invalid ') && needsNoMessage(issue.type) ? detailOf(byType(issue)) : issue.message
}

const named = ({ message }: v.BaseIssue<unknown>): Fault | null =>
  message.startsWith('{') ? (JSON.parse(message) as Fault) : null

function byType({ type, requirement, input }: v.BaseIssue<unknown>): Fault {
  const wanted = WANTED[type]
  if (wanted !== undefined) return { code: 'wrong-type', type: wanted }
  return LIMITS[type]?.(Number(requirement), input) ?? { code: 'invalid' }
}

/** What each schema of valibot wants, where it has no message. */
const WANTED: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  safe_integer: 'an integer',
  array: 'an array',
  boolean: 'true or false',
}

/** The fault of a value beyond a limit of valibot, where it has no message. */
const LIMITS: Readonly<Record<string, (limit: number, input: unknown) => Fault>> = {
  non_empty: () => ({ code: 'empty' }),
  max_length: (max, input) =>
    Array.isArray(input) ? { code: 'too-many', max, items: 'items' } : { code: 'too-long', max },
  min_value: (min) => ({ code: 'too-small', min }),
  max_value: (max) => ({ code: 'too-large', max }),
}

/** Returns whether a check of valibot gets its fault from its type, so that it needs no message. */
export const needsNoMessage = (type: string): boolean => type in WANTED || type in LIMITS
