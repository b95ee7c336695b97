import { expect, it } from 'vitest'
import { zones } from '#web/view/zones.ts'

it('offers the zones of the country first, by the names that people use, and every other by its city', () => {
  const { home, others } = zones('en-US')
  expect(home.map(({ label }) => label).slice(0, 5)).toEqual([
    'Eastern Time (New York)',
    'Central Time (Chicago)',
    'Mountain Time (Denver)',
    'Mountain Standard Time (Phoenix)',
    'Pacific Time (Los Angeles)',
  ])
  expect(zones('es-US').home[0]).toEqual({ value: 'America/New_York', label: 'Hora oriental (New York)' })
  expect(others[0]).toEqual({ value: 'UTC', label: 'UTC' })
  expect(others).toContainEqual({ value: 'America/Argentina/Buenos_Aires', label: 'Buenos Aires · America/Argentina' })
  const values = [...home, ...others].map(({ value }) => value)
  expect(new Set(values).size).toBe(values.length)
  expect(values.length).toBeGreaterThan(400)
})
