import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { API_KEY_STATUSES } from '#shared/identity/api-key-status.ts'
import { fault } from '#shared/schema/fault.ts'
import { AgePageQuery, page, pageOf, someOf } from '#shared/schema/page.ts'
import { UUID } from '#shared/schema/uuid.ts'
import { ApiKey } from './api-key.ts'
import { searchKeys } from './queries.ts'

export const listKeys = endpoint({
  route: 'GET /v1/api-keys',
  access: { permission: 'member.manage' },
  summary: 'List the API keys of the tenant, newest first',
  query: v.object({
    ...AgePageQuery,
    status: v.optional(someOf(API_KEY_STATUSES), API_KEY_STATUSES.join()),
    created_by: v.optional(
      v.pipe(
        v.string(fault({ code: 'repeated' })),
        v.regex(UUID, fault({ code: 'wrong-format', format: 'the id of a user' })),
      ),
    ),
  }),
  reply: pageOf(ApiKey),
  async handle({ query: { cursor = null, limit, status, created_by: createdBy = null }, sql }) {
    return ok(page(await searchKeys(sql, { before: cursor, limit, statuses: status, createdBy }), limit))
  },
})
