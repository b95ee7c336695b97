import { kept } from '#web/view/kept.ts'

/** Returns the format of numbers in a language: "1,234". */
export const numbersIn = kept((language) => new Intl.NumberFormat(language))
