import { expect, it } from 'vitest'
import { countWords } from '#functions/workers/count-words/worker.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()

it('counts the words of a new tag', async () => {
  const { sales } = await service.newTenant('sales')
  const { body } = await service.request('POST /v1/tags', { token: sales.token, body: { name: 'rush order' } })
  expect(await countWords(service.worker.database, () => false)).toBe(1)
  expect(await service.sql`select words from app.tags where id = ${body.id}`).toEqual([{ words: 2 }])
})
