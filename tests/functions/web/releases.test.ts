import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { page } from '#web/http/page.ts'
import { PAGES } from '#web/http/pages.ts'
import { text } from '#web/http/reply.ts'
import { ENHANCE_FILE } from '#web/view/enhance.ts'
import { ICON_FILE, STYLE_SHEET } from '#web/view/style.ts'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

// During a release, and after it is rolled back, the versions of two releases serve behind the paths of one of them.

const handle = async () => text('text/plain', 'the next release')
const NEXT_PAGES = [
  page({ route: 'GET /help', access: 'anyone', handle }),
  page({ route: 'GET /s/{slug}/reports', access: { permission: null }, handle }),
  // In the place of what is a parameter of this release.
  page({ route: 'GET /s/{slug}/members/{id}/history', access: { permission: null }, handle }),
  page({ route: 'GET /s/{slug}/vendor-accounts/offers', access: { permission: null }, handle }),
]
const [OLD, NEXT] = [PAGES, [...PAGES, ...NEXT_PAGES]]
const pathsOf = (pages: typeof OLD) => ['/', ...new Set(pages.map(({ path }) => path)), '/{proxy+}']

const ID = '0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b'

let own: TestWeb
let oldBehindNext: TestWeb
let nextBehindOld: TestWeb
beforeAll(async () => {
  // The next release has other names of parameters, too.
  const renamed = pathsOf(NEXT).map((path) => path.replace('{id}', '{thing}').replace('{slug}', '{shop}'))
  ;[own, oldBehindNext, nextBehindOld] = await Promise.all([
    startWeb(),
    startWeb({ pages: OLD, paths: renamed }),
    startWeb({ pages: NEXT, paths: pathsOf(OLD) }),
  ])
})
afterAll(() => Promise.all([own, oldBehindNext, nextBehindOld].map((web) => web.close())))

const addressOf = (path: string): string =>
  path
    .replace('{slug}', 'acme-print')
    .replace('{id}', ID)
    .replace('{role}', '3')
    .replace('{kind}', 'last-owner')
    .replace('{file}', 'style-000000000000.css')

/** What every address of some pages gives an owner: its status, and where it leads. */
async function answers(web: TestWeb, pages: typeof OLD): Promise<Record<string, string>> {
  const owner = await web.signedIn('owner@acme.test', 'acme-print')
  const found: Record<string, string> = {}
  for (const { method, path, route } of pages) {
    const address = addressOf(path)
    const { status, location } = method === 'GET' ? await owner.request(address) : await owner.post(address, {})
    found[route] = `${status} ${location ?? ''}`
  }
  return found
}

describe('while two releases serve', () => {
  it('each page of the old release answers behind the paths of the next one as behind its own', async () => {
    const expected = await answers(own, OLD)
    expect(Object.values(expected).filter((each) => each.startsWith('200')).length).toBeGreaterThan(15)
    expect(await answers(oldBehindNext, OLD)).toEqual(expected)
  })

  it('each page of the next release answers behind the paths of the old one', async () => {
    const ofNext = Object.fromEntries(NEXT_PAGES.map(({ route }) => [route, '200 ']))
    const expected = { ...(await answers(own, OLD)), ...ofNext }
    expect(await answers(nextBehindOld, NEXT)).toEqual(expected)
  })

  it.each([STYLE_SHEET, ICON_FILE, ENHANCE_FILE])(
    '$name of another release is this one’s, for a minute; its own for a year',
    async ({ name, path, content, contentType }) => {
      const [base = '', extension = ''] = name.split('.')
      for (const web of [own, nextBehindOld]) {
        const mine = await web.browser().request(path)
        const another = await web.browser().request(`/assets/${base}-0123456789ab.${extension}`)
        for (const { status, body, headers } of [mine, another])
          expect([status, body, headers.get('content-type')]).toEqual([200, content, contentType])
        expect(mine.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
        expect(another.headers.get('cache-control')).toBe('public, max-age=60')
      }
    },
  )

  it.each(['style.css', 'style-0123456789ab.js', 'nothing-0123456789ab.css', '..%2fstyle-0123456789ab.css'])(
    'no file has the address /assets/%s',
    async (file) => {
      expect((await own.browser().request(`/assets/${file}`)).status).toBe(404)
    },
  )
})
