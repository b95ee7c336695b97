import { describe, expect, it } from 'vitest'
import { AUDIT_ACTIONS } from '#shared/audit/actions.ts'
import { document } from '#tests/support/documented.ts'
import { expectContract } from '#tests/support/expect-answer.ts'
import { useService } from '#tests/support/test.ts'

const BASE = 'https://shops.example/a"b/problems'

const service = useService()
const moved = useService({ env: { PROBLEM_BASE_URL: BASE } })

describe('GET /v1/events/schemas', () => {
  it('serves the schema of each published action to anyone, cacheable for five minutes', async () => {
    const answer = await service.request('GET /v1/events/schemas')
    expectContract(answer, null)
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300')
    const published = Object.entries(AUDIT_ACTIONS).flatMap(([action, { event }]) => (event === null ? [] : [action]))
    expect(Object.keys(answer.body.data)).toEqual(published)
  })
})

describe('GET /v1/openapi.json', () => {
  it('serves the API document to anyone, cacheable for five minutes', async () => {
    const answer = await service.request('GET /v1/openapi.json')
    expect(answer.status).toBe(200)
    expectContract(answer, null)
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300')
    expect(answer.body).toEqual(document)
  })

  it('replaces the base URL of problem types with that of the stage', async () => {
    const { text, body } = await moved.request('GET /v1/openapi.json')
    expect(text).not.toContain('tenantry.example/problems')
    const { schema } = body.components.responses.ConflictLastOwner.content['application/problem+json']
    expect(schema.properties.type.enum).toEqual([`${BASE}/last-owner`])
  })
})
