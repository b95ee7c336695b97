import { expect, it } from 'vitest'
import { useService } from '#tests/support/test.ts'

const service = useService()
const create = (token: string, name: string) => service.request('POST /v1/tags', { token, body: { name } })

it('lists the tags of the tenant by name, and of no other', async () => {
  const [own, other] = [await service.newTenant('sales'), await service.newTenant('sales')]
  await create(other.sales.token, 'theirs')
  for (const name of ['rush', 'embroidery']) expect((await create(own.sales.token, name)).status).toBe(200)
  const { body } = await service.request('GET /v1/tags', { token: own.sales.token })
  expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['embroidery', 'rush'])
})

it('rejects a second tag of the same name', async () => {
  const { sales } = await service.newTenant('sales')
  await create(sales.token, 'rush')
  expect((await create(sales.token, 'rush')).status).toBe(409)
})
