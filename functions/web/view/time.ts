import { type Language, LOCALES } from '#shared/schema/language.ts'
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

const DATE = { year: 'numeric', month: 'short', day: 'numeric' } as const
const CLOCK = { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const
const SHAPES = { full: { ...DATE, ...CLOCK }, date: DATE, clock: CLOCK, day: { dateStyle: 'full' } } as const
type Shape = keyof typeof SHAPES
type Place = Pick<Ui, 'language' | 'session'>

const formatOf = kept(
  (language: Language, timeZone: string, shape: Shape) =>
    new Intl.DateTimeFormat(LOCALES[language], { ...SHAPES[shape], timeZone }),
)

/** Returns the time zone of the shop. Without a shop it is UTC. */
const zoneOf = ({ session }: Place): string => session?.tenant?.timezone ?? 'UTC'

const inZone = (place: Place, time: string, shape: Shape, timeZone = zoneOf(place)): string =>
  formatOf(place.language, timeZone, shape).format(new Date(time))

/** Returns a time with its day, in the time zone of the shop, or in another, which it names. */
export const absolute = (place: Place, time: string, timeZone?: string): string => inZone(place, time, 'full', timeZone)

/** Returns the day of a time in the time zone of the shop, in words: "Friday, November 27, 2026". */
export const dayIn = (place: Place, time: string): string => inZone(place, time, 'day')

/**
 * A time of the API: relative within a day, else the date. The other one is its title, and on paper it is absolute. `underDay`: the day
 * stands above it, so the clock replaces the date.
 */
export function when(ui: Ui, time: string, { underDay = false } = {}): Html {
  const seconds = (Date.parse(time) - Date.now()) / 1000
  const [full, distance] = [absolute(ui, time), relative(ui.language, seconds)]
  const near = Math.abs(seconds) < DAY_MS / 1000
  const shown = near ? distance : inZone(ui, time, underDay ? 'clock' : 'date')
  return html`<time datetime="${time}" title="${near ? full : `${full}, ${distance}`}"><span class="screen">${shown}</span><span class="paper">${full}</span></time>`
}

const DAY_MS = 86_400_000
// No zone is further from UTC.
const FURTHEST_MS = 26 * 3_600_000

const dayOf = kept((timeZone) => new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }))

/** The days that a filter takes. Entries are younger, and Intl writes each of these with four digits of the year. */
export const DAYS = { min: '2000-01-01', max: '2999-12-31' } as const

const dayInWords = kept(
  (language: Language) => new Intl.DateTimeFormat(LOCALES[language], { dateStyle: 'long', timeZone: 'UTC' }),
)

/** Returns a day (yyyy-mm-dd) in words: "January 1, 2000". */
export const dayName = (language: Language, day: string): string => dayInWords(language).format(Date.parse(day))

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
