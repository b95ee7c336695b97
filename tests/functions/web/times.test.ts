import { describe, expect, it } from 'vitest'
import { STYLE } from '#web/view/style.ts'
import { dayIn, when } from '#web/view/time.ts'
import { TEXTS } from '#web/texts/texts.ts'
import type { Ui } from '#web/view/ui.ts'

const HOUR_MS = 3_600_000

/** What a view knows of a request without a shop, or of one in a shop of this time zone. */
const uiIn = (language: 'en' | 'es', timezone?: string) =>
  ({ language, t: TEXTS[language], session: timezone === undefined ? null : { tenant: { timezone } } }) as unknown as Ui

function parts(markup: string) {
  const [, title, screen, paper] =
    /title="([^"]*)"><span class="screen">([^<]*)<\/span><span class="paper">([^<]*)</.exec(markup) ?? []
  return { title, screen, paper }
}
const shown = (ui: Ui, time: string, options = {}) =>
  parts(when(ui, time, options).toString().replaceAll('\u202F', ' '))
const fromNow = (ms: number) => new Date(Date.now() + ms).toISOString()

describe('a time on a page', () => {
  it('is relative within a day, before and after now, and has the absolute time as its title and on paper', () => {
    const ui = uiIn('en', 'America/New_York')
    for (const [ms, words] of [
      [-23 * HOUR_MS, '23 hours ago'],
      [23.6 * HOUR_MS, 'in 24 hours'],
    ] as const) {
      const { title, screen, paper } = shown(ui, fromNow(ms))
      expect(screen).toBe(words)
      expect(title).toMatch(/^\w{3} \d{1,2}, \d{4}, \d{1,2}:\d\d [AP]M E[DS]T$/)
      expect(paper).toBe(title)
    }
  })

  it('is the date before that, or the clock below the heading of its day, with the distance in its title', () => {
    const time = '2020-01-02T04:30:00Z'
    const ui = uiIn('en', 'America/New_York')
    const full = 'Jan 1, 2020, 11:30 PM EST'
    expect(shown(ui, time)).toEqual({
      title: expect.stringMatching(`^${full}, \\d+ years ago$`),
      screen: 'Jan 1, 2020',
      paper: full,
    })
    expect(shown(ui, time, { underDay: true })).toMatchObject({ screen: '11:30 PM EST', paper: full })
    expect(dayIn(ui, time)).toBe('Wednesday, January 1, 2020')
    expect(shown(uiIn('en'), time)).toMatchObject({ screen: 'Jan 2, 2020' })
  })

  it('is written as Spanish speakers of the United States write it', () => {
    const ui = uiIn('es', 'America/New_York')
    expect(shown(ui, '2020-01-02T05:20:00Z')).toMatchObject({
      screen: '2 ene 2020',
      paper: '2 ene 2020, 12:20 a.m. EST',
    })
    expect(dayIn(ui, '2020-01-02T05:20:00Z')).toBe('jueves, 2 de enero de 2020')
  })
})

it('a page prints in light colors, whatever the screen prefers', () => {
  const dark = [...STYLE.matchAll(/@media ([^{]*)\{:root\{--ground:#1/g)].map(([, query]) => query)
  expect(dark).toEqual(['screen and (prefers-color-scheme:dark)'])
})
