import { describe, expect, it } from 'vitest'
import { atStart } from '#functions/api/auth/at-start.ts'
import { group } from '#functions/api/auth/group.ts'
import { lambda } from '#shared/http/lambda.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { useService } from '#tests/support/test.ts'

describe('the Lambda of sign-in', () => {
  const service = useService()

  it('starts with the name, the body limit and the needs of its group', () => {
    const { endpoints: _all, ...whole } = group
    expect({ ...whole, needs: group.needs.toSorted() }).toEqual({
      name: atStart.name,
      bodyLimitBytes: atStart.bodyLimitBytes,
      needs: atStart.needs.toSorted(),
    })
    for (const endpoint of atStart.endpoints) expect(group.endpoints).toContain(endpoint)
  })

  it('answers on every route of its group, also on those that a start does not read', async () => {
    const handle = lambda(atStart, { config: service.runtime.config, open: async () => service.authRuntime })
    const statusOf = async (route: string) =>
      (await handle(gatewayEvent({ route, params: { id: '0b54c0f4-51a2-4f3c-9b0e-6f3f0a1f2d3e' } }), lambdaContext))
        .statusCode
    for (const { method, path, access } of group.endpoints)
      expect([401, ...(access === 'anyone' ? [400, 415, 422] : [])], `${method} ${path}`).toContain(
        await statusOf(`${method} ${path}`),
      )
    const wrong = await handle(gatewayEvent({ route: 'PUT /v1/auth/factors/draft' }), lambdaContext)
    expect([wrong.statusCode, wrong.headers?.['allow'] ?? wrong.multiValueHeaders?.['allow']]).toEqual([
      405,
      'POST, GET, HEAD',
    ])
    expect(await statusOf('GET /v1/auth/nothing')).toBe(404)
  })
})
