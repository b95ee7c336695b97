import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { listSessions as list } from './queries.ts'

export const listSessions = endpoint({
  route: 'GET /v1/auth/sessions',
  access: 'session',
  async handle({ caller, sql }) {
    const sessions = await list(sql, caller.session.id)
    return ok({
      data: sessions.map(({ id, user_agent, created_at, last_seen_at, tenant_id, ...tenant }) => ({
        id,
        tenant: tenant_id === null ? null : { id: tenant_id, ...tenant },
        user_agent,
        created_at,
        last_seen_at,
        current: id === caller.session.id,
      })),
    })
  },
})
