import { expect, it } from 'vitest'
import { deleteOldTags } from '#functions/workers/delete-old-tags/worker.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()

it('deletes tags of all tenants that are older than 400 days, and keeps younger ones', async () => {
  for (const { sales } of [await service.newTenant('sales'), await service.newTenant('sales')])
    for (const name of ['old', 'new']) await service.request('POST /v1/tags', { token: sales.token, body: { name } })
  await service.sql`update app.tags set created_at = now() - interval '400 days 1 minute' where name = 'old'`
  expect(await deleteOldTags(service.worker.database.sql, () => false)).toBe(2)
  expect(await service.sql`select distinct name from app.tags`).toEqual([{ name: 'new' }])
})
