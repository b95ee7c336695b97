import { requestSource } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { notFound } from '#shared/base/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { selectTenant as select } from '#shared/identity/session-queries.ts'
import { Me, describePrincipal } from '#shared/identity/session.ts'

export const selectTenant = endpoint({
  route: 'POST /v1/auth/tenants/{id}/select',
  // One call of a function, which checks the session itself and must lock the tenant before it.
  access: { session: true, transactions: 'by call' },
  summary: 'Select the tenant that the session acts for',
  reply: Me,
  problems: ['second-factor-required'],
  async handle(context) {
    const { principal, params, runtime, call } = context
    const selected = await select(call, {
      principal,
      tenantId: params.id,
      idleSeconds: runtime.config.session.idleSeconds,
      source: requestSource(context),
    })
    if (selected === null) throw notFound('the user has no live membership in an open tenant with this id')
    return ok(describePrincipal(selected), { headers: { 'x-tenant-id': params.id } })
  },
})
