import * as v from 'valibot'

/** The languages of mails and pages. The first one is the default. */
export const LANGUAGES = ['en', 'es'] as const

export const Language = v.picklist(LANGUAGES, `must be ${LANGUAGES.join(' or ')}`)

export type Language = v.InferOutput<typeof Language>
