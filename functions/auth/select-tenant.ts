import { endpoint } from '#shared/http/endpoint.ts'
import { notFound } from '#shared/http/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { selectTenant as select } from '#shared/session/queries.ts'
import { describeCaller } from '#shared/session/session.ts'

export const selectTenant = endpoint({
  route: 'POST /v1/auth/tenants/{id}/select',
  access: 'session',
  async handle({ caller, params, sql, runtime }) {
    const selected = await select(sql, {
      sessionId: caller.session.id,
      tenantId: params.id,
      idleSeconds: runtime.config.session.idleSeconds,
    })
    if (selected === null) throw notFound('no live membership in an open tenant of this id')
    return ok(describeCaller(selected), { 'x-tenant-id': params.id })
  },
})
