import { expect, it } from 'vitest'
import { useService } from '#tests/support/test.ts'

const service = useService()
const create = (token: string, name: string) => service.request('POST /v1/tags', { token, body: { name } })
const namesFor = async (token: string): Promise<string[]> =>
  (await service.request('GET /v1/tags', { token })).body.data.map(({ name }: { name: string }) => name)

it('lists the tags of the tenant by name, and of no other, also to a viewer', async () => {
  const [own, other] = [await service.newTenant('sales', 'viewer'), await service.newTenant('sales')]
  await create(other.sales.token, 'theirs')
  for (const name of ['rush', 'embroidery']) expect((await create(own.sales.token, name)).status).toBe(200)
  expect(await namesFor(own.viewer.token)).toEqual(['embroidery', 'rush'])
})

it('rejects a second tag of the same name, until the first one is deleted', async () => {
  const { sales } = await service.newTenant('sales')
  const { body: tag } = await create(sales.token, 'rush')
  expect((await create(sales.token, 'rush')).status).toBe(409)
  expect((await service.request(`DELETE /v1/tags/${tag.id}`, { token: sales.token })).status).toBe(204)
  expect(await namesFor(sales.token)).toEqual([])
  expect((await create(sales.token, 'rush')).status).toBe(200)
})
