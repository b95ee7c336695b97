import { type Language, LOCALES } from '#shared/schema/language.ts'
import { kept } from '#web/view/kept.ts'

/** Returns the format of numbers in a language, as the United States write them: "1,234". */
export const numbersIn = kept((language: Language) => new Intl.NumberFormat(LOCALES[language]))
