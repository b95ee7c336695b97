import { describe, expect, it } from 'vitest'
import { group } from '#functions/api/not-found/group.ts'
import { parseConfig } from '#shared/base/config.ts'
import { lambda } from '#shared/http/lambda.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'

describe('a path that is no route', () => {
  it.each(['GET /', 'POST /{proxy+}', 'DELETE /{proxy+}'])(
    'returns a 404 problem without opening a runtime, and never repeats the bearer token: %s',
    async (route) => {
      let opened = 0
      const open = async () => {
        opened += 1
        throw new Error('opened')
      }
      const handle = lambda(group, { config: parseConfig({}), open })
      const headers = { authorization: 'Bearer a-token-that-must-not-come-back' }
      const answer = await handle(gatewayEvent({ route, headers, params: { proxy: 'v1/../members' } }), lambdaContext)
      expect(answer.statusCode).toBe(404)
      expect(answer.headers).toMatchObject({
        'content-type': 'application/problem+json',
        'cache-control': 'no-store',
        'x-request-id': expect.any(String),
      })
      expect(JSON.parse(answer.body)).toMatchObject({ type: 'about:blank', status: 404 })
      expect(answer.body).not.toContain('a-token')
      expect(opened).toBe(0)
    },
  )
})
