import { describe, expect, it } from 'vitest'
import { PAGES } from '#web/http/pages.ts'
import { statesOf, VIEWS } from '#tests/browser/states/list.ts'
import type { Made } from '#tests/browser/states/made.ts'

const ID = '0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b'
const shop = { slug: 'a-shop', owner: 'owner@a-shop.test', member: ID, role: '100', account: ID, run: ID, key: ID }
const anything: Record<string, unknown> = new Proxy({}, { get: () => shop })
// Every address names the same shop, member and so on.
const made = { shops: anything, runs: anything, links: anything, members: anything } as unknown as Made
const states = statesOf(made)

describe('the states that the browser tests and the screenshots show', () => {
  it('contain each page', () => {
    const shown = new Set(states.map(({ view }) => view))
    expect(VIEWS.filter((view) => !shown.has(view))).toEqual([])
    expect([...shown].filter((view) => !VIEWS.includes(view))).toEqual([])
  })

  it('contain each form with a refusal', () => {
    const forms = PAGES.filter(({ method, form, again }) => method === 'POST' && form !== null && again !== null)
    const refused = states.flatMap(({ sends, status }) =>
      sends === undefined || status === 200 ? [] : [sends.to(made)],
    )
    const patternOf = (path: string) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`)
    expect(forms.map(({ path }) => path).filter((path) => !refused.some((to) => patternOf(path).test(to)))).toEqual([])
  })
})
