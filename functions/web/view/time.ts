import { type Html, html } from '#web/http/html.ts'
import { kept } from '#web/view/kept.ts'
import type { Ui } from '#web/view/ui.ts'

const STEPS = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['week', 7 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

const inWords = kept((language) => new Intl.RelativeTimeFormat(language, { numeric: 'auto' }))

/** Returns how far a time is from now, in words: "3 hours ago", "in 2 days". */
export function relative(language: string, seconds: number): string {
  const [unit, size] = STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? (['second', 1] as const)
  return inWords(language).format(Math.round(seconds / size), unit)
}

/** Returns a number of seconds in words, rounded up: "1 minute", "2 hours". */
export function duration(language: string, seconds: number): string {
  const [unit, size] = STEPS.find(([, size]) => seconds >= size) ?? (['second', 1] as const)
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(
    Math.max(1, Math.ceil(seconds / size)),
  )
}

const inZone = kept(
  (language, timeZone) =>
    new Intl.DateTimeFormat(language, {
      year: 'numeric',
      month: 'short',
      day: 'numeric',
      hour: 'numeric',
      minute: '2-digit',
      timeZoneName: 'short',
      timeZone,
    }),
)

/** Returns a time with its day, in the time zone of the shop, which it names. Without a shop it is UTC. */
export const absolute = ({ language, session }: Pick<Ui, 'language' | 'session'>, time: string): string =>
  inZone(language, session?.tenant?.timezone ?? 'UTC').format(new Date(time))

/** A time of the API: relative, and absolute in the time zone of the shop. */
export const when = (ui: Ui, time: string): Html =>
  html`<time datetime="${time}">${relative(ui.language, (Date.parse(time) - Date.now()) / 1000)} <span class="quiet">${absolute(ui, time)}</span></time>`

const clockOf = kept(
  (timeZone) => new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }),
)

/** Returns when a day (yyyy-mm-dd) begins in a time zone, `later` days after it, as the API takes it. */
export function startOfDay(day: string, timeZone: string, later = 0): string {
  const midnight = Date.parse(`${day}T00:00:00Z`) + later * 86_400_000
  const offsetAt = (time: number): number => {
    const clock = clockOf(timeZone).format(time)
    return Date.parse(`${clock.replace(' ', 'T')}Z`) - time
  }
  // The second look is for a day that begins on the other side of a change of the clocks.
  return new Date(midnight - offsetAt(midnight - offsetAt(midnight))).toISOString()
}
