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

const DAY_MS = 86_400_000
// No zone is further from UTC.
const FURTHEST_MS = 26 * 3_600_000

const dayOf = kept((timeZone) => new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }))

/** The days that a filter takes. Entries are younger, and Intl writes each of these with four digits of the year. */
export const DAYS = { min: '2000-01-01', max: '2999-12-31' } as const

const dayInWords = kept((language) => new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' }))

/** Returns a day (yyyy-mm-dd) in words: "January 1, 2000". */
export const dayName = (language: string, day: string): string => dayInWords(language).format(Date.parse(day))

/** Whether a text is a day of the calendar (yyyy-mm-dd) that a filter takes. */
export function isDay(text: string): boolean {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  // Date.parse takes February 30 for a day of March.
  return text >= DAYS.min && text <= DAYS.max && !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

/**
 * Returns when a day begins in a time zone, `later` days after it, as the API takes it: its first instant, which is 01:00 where
 * the clocks go forward at midnight. Requires a day that `isDay` accepts.
 */
export function startOfDay(day: string, timeZone: string, later = 0): string {
  const midnight = Date.parse(`${day}T00:00:00Z`) + later * DAY_MS
  const wanted = new Date(midnight).toISOString().slice(0, 10)
  const format = dayOf(timeZone)
  // Looks for the instant at which the calendar of the zone reaches the day.
  let [before, from] = [midnight - FURTHEST_MS, midnight + FURTHEST_MS]
  while (from - before > 1) {
    const middle = Math.floor((before + from) / 2)
    if (format.format(middle) < wanted) before = middle
    else from = middle
  }
  return new Date(from).toISOString()
}
