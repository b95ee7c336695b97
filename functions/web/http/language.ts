import type { Language } from '#shared/schema/language.ts'
import { deleteCookie, setCookie } from '#web/http/cookies.ts'

/** The languages of the pages, each by its own name. */
export const LANGUAGES: Readonly<Record<Language, string>> = { en: 'English', es: 'Español' }

export const isLanguage = (text: string): text is Language => Object.hasOwn(LANGUAGES, text)

// What the cookie says after the language of a person who signed in, or chose it while signed in.
const OF_PERSON = '.person'

/** Returns the Set-Cookie header that keeps the language of a person, also after they sign out. */
export const languageCookie = (language: Language): string => setCookie('lang', `${language}${OF_PERSON}`)

/**
 * Returns the Set-Cookie headers of a sign-in. A language that somebody has just chosen without a session stays. That of the person who
 * was signed in before goes: the first page takes the language of the new one.
 */
export function languageAtSignIn(chosen: string | undefined): readonly string[] {
  if (chosen === undefined) return []
  return [isLanguage(chosen) ? languageCookie(chosen) : deleteCookie('lang')]
}

/** Returns the language that the person chose, else the one that the browser prefers, else English. */
export function languageOf(chosen: string | undefined, accepted: string | undefined): Language {
  const known = chosen?.replace(OF_PERSON, '')
  if (known !== undefined && isLanguage(known)) return known
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
