import { endpoint } from '#shared/http/endpoint.ts'
import { notFound } from '#shared/base/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { ApiKey } from './api-key.ts'
import { findKey } from './queries.ts'

export const readKey = endpoint({
  route: 'GET /v1/api-keys/{id}',
  access: { permission: 'member.manage' },
  summary: 'An API key, without the key itself',
  reply: ApiKey,
  async handle({ params, sql }) {
    const key = await findKey(sql, params.id)
    if (key === null) throw notFound('no API key with this id')
    return ok(key)
  },
})
