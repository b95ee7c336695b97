import { record } from '#shared/audit/audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { notFound } from '#shared/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { selectTenant as select } from '#shared/session/queries.ts'
import { CallerView, describeCaller } from '#shared/session/session.ts'

export const selectTenant = endpoint({
  route: 'POST /v1/auth/tenants/{id}/select',
  access: 'session',
  summary: 'Act for a tenant from now on',
  reply: CallerView,
  async handle(exchange) {
    const { caller, params, runtime } = exchange
    const selected = await runtime.database.transaction('read write', async (tx) => {
      const bound = await select(tx, {
        sessionId: caller.session.id,
        tenantId: params.id,
        idleSeconds: runtime.config.session.idleSeconds,
      })
      if (bound === null) throw notFound('no live membership in an open tenant of this id')
      await record(tx, exchange, {
        tenantId: params.id,
        actorUserId: caller.user.id,
        action: 'session.tenant_selected',
        targetType: 'session',
        targetId: caller.session.id,
      })
      return bound
    })
    return ok(describeCaller(selected), { headers: { 'x-tenant-id': params.id } })
  },
})
