// How a test file gets the service:
//
//   import { expect, it } from 'vitest'
//   import { useService } from '#tests/support/test.ts'
//
//   const service = useService({ env: { INVITE_TENANT_LIMIT: '3' } })
//   const list = (token: string) => service.request('GET /v1/members', { token })
//
//   it('rejects a list from a role without the permission', async () => {
//     const { sales } = await service.newTenant('owner', 'sales')
//     expect((await list(sales.token)).status).toBe(403)
//     await service.sql`update app.memberships set revoked_at = now() where id = ${sales.membershipId}`
//   })
import { afterAll, beforeAll } from 'vitest'
import { type ServiceOptions, startService, type TestService } from './service.ts'

/**
 * Starts the service before the first test of a file, or of a `describe`, and closes it after the last. Returns the
 * service; its members exist from the first test or `beforeAll` on, so that the helpers of a file can close over it.
 */
export function useService(options: ServiceOptions = {}): TestService {
  const service: TestService = Object.create(null)
  beforeAll(async () => {
    Object.setPrototypeOf(service, await startService(options))
  })
  afterAll(() => service.close())
  return service
}
