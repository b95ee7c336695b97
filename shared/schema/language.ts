import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'

/** The languages of mails and pages. The first one is the default. */
export const LANGUAGES = ['en', 'es'] as const

export const Language = v.picklist(LANGUAGES, fault({ code: 'not-a-choice', choices: LANGUAGES.join(' or ') }))

export type Language = v.InferOutput<typeof Language>

/** How people write times: by the customs of the United States, where the shops are. Intl alone would write Spanish as in Spain: "0:20 GMT-5". */
export const LOCALES: Readonly<Record<Language, string>> = { en: 'en-US', es: 'es-US' }
