import { afterAll, beforeAll, expect, it } from 'vitest'
import { PROBLEMS } from '#shared/base/problem.ts'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

it.each(Object.keys(PROBLEMS))('explains the type of problem %s at its address, in both languages', async (kind) => {
  const { status, title } = PROBLEMS[kind as keyof typeof PROBLEMS]
  const read = (language: string) =>
    web.browser().request(`/problems/${kind}`, { headers: { 'accept-language': language } })
  const [english, spanish] = [await read('en'), await read('es')]
  expect([english.status, spanish.status]).toEqual([200, 200])
  expect(english.body).toContain(`<h1>${title}</h1>`)
  expect(spanish.body).not.toContain(`<h1>${title}</h1>`)
  for (const { body } of [english, spanish]) {
    expect(body).toContain(`<dd>${status}</dd>`)
    expect(body).toContain(`<code>${kind}</code>`)
  }
})

it.each(['nothing', 'constructor', 'hasOwn', 'rate-limited-2'])('has no page for %s', async (kind) => {
  expect((await web.browser().request(`/problems/${kind}`)).status).toBe(404)
})
