import type { Language } from '#shared/schema/language.ts'

/** Returns the texts of each language, from texts that stand together by what they name. */
export function byLanguage<Key extends string, Text>(
  texts: Readonly<Record<Key, Readonly<Record<Language, Text>>>>,
): Readonly<Record<Language, Readonly<Record<Key, Text>>>> {
  const inOne = (language: Language) =>
    Object.fromEntries(
      Object.entries<Readonly<Record<Language, Text>>>(texts).map(([key, each]) => [key, each[language]]),
    ) as Record<Key, Text>
  return { en: inOne('en'), es: inOne('es') }
}
