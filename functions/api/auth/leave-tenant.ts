import { requestSource } from '#shared/audit/record-audit.ts'
import { notFound } from '#shared/base/problem.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { leaveTenant as leave } from './session-queries.ts'

export const leaveTenant = endpoint({
  route: 'DELETE /v1/auth/tenants/{id}',
  // One call of a function, which checks the session itself and must lock the tenant before it.
  access: { session: true, transactions: 'by call', stepUp: true },
  summary: 'Leave a tenant: end the membership of the user and their sessions in it, and mail its owners',
  revokes: true,
  needs: ['invoke:deliver-mail'],
  problems: ['last-owner'],
  async handle(context) {
    const { principal, params, call, runtime } = context
    const { stepUpSeconds } = runtime.config.factor
    if (!(await leave(call, { principal, tenantId: params.id, source: requestSource(context), stepUpSeconds })))
      throw notFound('the user has no live membership in a tenant with this id')
    await Promise.all([call.invoke('publish-events'), call.invoke('deliver-mail')])
    return noContent()
  },
})
