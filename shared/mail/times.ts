import { type Language, LOCALES } from '#shared/schema/language.ts'

/** Returns a time with its day and its time zone, as people call it: "November 27, 2026 at 1:12 AM Eastern Time". Of an unknown zone, UTC. */
export function timeIn(at: string, timeZone: string | null, language: Language): string {
  const format = (zone: string) =>
    new Intl.DateTimeFormat(LOCALES[language], {
      year: 'numeric',
      month: 'long',
      day: 'numeric',
      hour: 'numeric',
      minute: '2-digit',
      timeZone: zone,
      // The general name of UTC would be "GMT+00:00".
      timeZoneName: zone === 'UTC' ? 'short' : 'longGeneric',
    }).format(new Date(at))
  try {
    return format(timeZone ?? 'UTC')
  } catch {
    return format('UTC')
  }
}

const UNITS = [
  ['day', 1440],
  ['hour', 60],
  ['minute', 1],
] as const

/** Returns how long it is until a time, in whole minutes, hours or days: "1 hour". */
export function timeUntil(at: string, language: Language): string {
  const minutes = Math.max(1, Math.round((Date.parse(at) - Date.now()) / 60_000))
  const [unit, size] = UNITS.find(([, size]) => minutes >= size) ?? (['minute', 1] as const)
  const count = Math.round(minutes / size)
  return new Intl.NumberFormat(LOCALES[language], { style: 'unit', unit, unitDisplay: 'long' }).format(count)
}
