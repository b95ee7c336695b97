import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Id } from '#shared/schema/id.ts'
import { AgePageQuery, page, pageOf } from '#shared/schema/page.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'
import { Tenant } from '#shared/identity/tenant.ts'
import { listSessions as list } from './session-queries.ts'

export const listSessions = endpoint({
  route: 'GET /v1/auth/sessions',
  access: 'session',
  summary: 'List the live sessions of the user, newest first',
  query: v.object(AgePageQuery),
  reply: pageOf(
    v.object({
      id: Id,
      tenant: v.nullable(Tenant),
      user_agent: v.nullable(v.pipe(v.string(), v.examples(['Mozilla/5.0']))),
      created_at: Timestamp,
      last_seen_at: Timestamp,
      second_factor: v.boolean(),
      current: v.boolean(),
    }),
  ),
  async handle({ query: { limit, cursor = null }, principal, call }) {
    const rows = await list(call, principal.ticket, { limit, before: cursor })
    const { data, next_cursor } = page(rows, limit)
    return ok({
      data: data.map(({ id, user_agent, created_at, last_seen_at, second_factor, tenant_id, ...tenant }) => ({
        id,
        tenant: tenant_id === null ? null : { id: tenant_id, ...tenant },
        user_agent,
        created_at,
        last_seen_at,
        second_factor,
        current: id === principal.session.id,
      })),
      next_cursor,
    })
  },
})
