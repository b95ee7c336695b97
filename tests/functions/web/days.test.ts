import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { isDay, startOfDay } from '#web/view/time.ts'
import { zones } from '#web/view/zones.ts'
import { oneOf } from '#tests/support/rounds.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NAMES = Object.values(zones('en-US')).flatMap((options) => options.map(({ value }) => value))
const [FIRST, LAST] = [Date.UTC(2020, 0, 1), Date.UTC(2031, 0, 1)]

/** Returns the wall clock of a zone, as minutes since 1970. */
function clock(zone: string): (time: number) => number {
  const parts = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, hourCycle: 'h23', ...parts })
  return (time) => {
    const [month = 0, day, year = 0, hour, minute] = (format.format(time).match(/\d+/g) ?? []).map(Number)
    return Date.UTC(year, month - 1, day, hour, minute) / 60_000
  }
}

/** Returns the days (UTC) in which the clocks of the zone change. */
function changes(wall: (time: number) => number): number[] {
  const offset = (time: number) => wall(time) - time / 60_000
  const found: number[] = []
  for (let time = FIRST; time < LAST; time += 7 * DAY_MS) {
    if (offset(time) === offset(time + 7 * DAY_MS)) continue
    for (let day = time; day < time + 7 * DAY_MS; day += DAY_MS)
      if (offset(day) !== offset(day + DAY_MS)) found.push(day)
  }
  return found
}

it('a day begins at its first instant, in every time zone, around every change of the clocks from 2020 to 2030', () => {
  const wrong: string[] = []
  let days = 0
  let late = 0
  for (const zone of oneOf(5, NAMES)) {
    const wall = clock(zone)
    for (const change of [...changes(wall), Date.UTC(2024, 1, 28)])
      for (let day = change - DAY_MS; day <= change + 2 * DAY_MS; day += DAY_MS) {
        const text = new Date(day).toISOString().slice(0, 10)
        const start = Date.parse(startOfDay(text, zone))
        const midnight = day / 60_000
        const isFirst =
          wall(start) >= midnight &&
          wall(start) < midnight + 180 &&
          [1, 60_000, HOUR_MS / 2, HOUR_MS, 2 * HOUR_MS].every((before) => wall(start - before) < midnight) &&
          startOfDay(new Date(day - DAY_MS).toISOString().slice(0, 10), zone, 1) === new Date(start).toISOString()
        if (!isFirst) wrong.push(`${text} in ${zone}`)
        days += 1
        if (wall(start) > midnight) late += 1
      }
  }
  console.log(`${NAMES.length} zones, ${days} days, ${late} of them begin after 00:00`)
  expect(wrong).toEqual([])
  // Santiago, Asuncion, Beirut, Cairo, Havana and others.
  expect(late).toBeGreaterThan(10)
})

it.each([
  ['2026-09-06', 'America/Santiago', '2026-09-06T04:00:00.000Z'],
  ['2026-04-24', 'Africa/Cairo', '2026-04-23T22:00:00.000Z'],
  ['2026-03-29', 'Asia/Beirut', '2026-03-28T22:00:00.000Z'],
  // 00:00 comes twice, and the day begins with the first.
  ['2026-11-01', 'America/Havana', '2026-11-01T04:00:00.000Z'],
])('%s in %s begins at %s', (day, zone, start) => expect(startOfDay(day, zone)).toBe(start))

it('takes the days of the calendar that a filter can compute, and no others', () => {
  for (const day of ['2000-01-01', '2024-02-29', '2999-12-31']) expect(isDay(day), day).toBe(true)
  for (const day of [
    '0026-11-25',
    '1999-12-31',
    '2026-02-30',
    '2026-13-01',
    '2025-02-29',
    '9999-12-31',
    '+02026-01-01',
    '26-1-1',
    'x',
    '2026-11-25T00:00',
  ])
    expect(isDay(day), day).toBe(false)
})

const TAB = '/usr/share/zoneinfo/zone1970.tab'

it.skipIf(!existsSync(TAB))(
  'the settings offer every time zone of zone1970.tab in its present spelling, and UTC',
  () => {
    const rows = readFileSync(TAB, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    const names = rows.map((row) => row.split('\t')[2] ?? '')
    expect(names.length).toBeGreaterThan(300)
    expect(['UTC', ...names].filter((name) => !NAMES.includes(name))).toEqual([])
  },
)

it('offers no time zone by an old spelling, and none twice', () => {
  for (const old of ['Asia/Calcutta', 'Europe/Kiev', 'America/Godthab', 'Africa/Asmera', 'Pacific/Truk', 'US/Eastern'])
    expect(NAMES).not.toContain(old)
  expect(new Set(NAMES).size).toBe(NAMES.length)
})
