import { afterAll, beforeAll, expect, it } from 'vitest'
import { useService } from '#tests/support/test.ts'
import { mixTenants, type Orders, revokeBeforeWrites, startOrders } from './running-orders.ts'

const service = useService()
let orders: Orders
beforeAll(async () => {
  orders = await startOrders(service)
})
afterAll(() => orders.close())

it('leaves no row of a write that a revocation overtook, in 100 rounds', () => revokeBeforeWrites(service, orders, 100))

it('returns no row of another tenant in 10,000 mixed requests of two', { timeout: 600_000 }, async () => {
  await mixTenants(service, orders, 10_000)
  expect(
    await service.sql`select count(*)::int as orders from orders.orders where title like 'tenant-%'`,
  ).toMatchObject([{ orders: 10_000 / 4 + 2 }])
})
