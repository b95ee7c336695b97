import { afterAll, beforeAll, expect, it } from 'vitest'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

const TAGS = '/s/acme-print/tags'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

it('adds, shows and deletes a tag, and says at the field when the name is taken', async () => {
  const sales = await web.signedIn('both@shops.test', 'acme-print')
  await sales.open(TAGS)
  await sales.submit(TAGS, { name: 'rush' })
  expect(sales.page.body).toContain('The tag was added.')
  await sales.submit(TAGS, { name: 'rush' })
  expect([sales.page.status, sales.page.body]).toEqual([422, expect.stringContaining('id="field-name-error"')])
  const [tag] = await web.service.sql`select id from app.tags`
  await sales.submit(`${TAGS}/${tag?.['id']}/delete`)
  expect(sales.page.body).toContain('The tag was deleted.')
})

it('shows a viewer the tags without a form', async () => {
  const viewer = await web.signedIn('viewer@acme.test')
  const { status, body } = await viewer.open(TAGS)
  expect([status, body.includes(`action="${TAGS}"`)]).toEqual([200, false])
})
