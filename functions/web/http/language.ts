import type { Language } from '#shared/schema/language.ts'

/** The languages of the pages, each by its own name. */
export const LANGUAGES: Readonly<Record<Language, string>> = { en: 'English', es: 'Español' }

export const isLanguage = (text: string): text is Language => Object.hasOwn(LANGUAGES, text)

/** Returns the language that the person chose, else the one that the browser prefers, else English. */
export function languageOf(chosen: string | undefined, accepted: string | undefined): Language {
  if (chosen !== undefined && isLanguage(chosen)) return chosen
  const wanted = (accepted ?? '')
    .slice(0, 200)
    .split(',')
    .map((item) => {
      const [range = '', ...parameters] = item.split(';').map((part) => part.trim())
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
      return { code: range.toLowerCase().split('-', 1)[0] ?? '', weight: weight === undefined ? 1 : Number(weight) }
    })
    .filter(({ weight }) => weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
  return wanted.map(({ code }) => code).find(isLanguage) ?? 'en'
}
