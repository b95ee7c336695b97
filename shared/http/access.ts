import { readInTenant, writeInTenant } from '#shared/db/scope.ts'
import type { Reply } from '#shared/http/reply.ts'
import { type ExchangeState, matched } from '#shared/http/request.ts'

/** Runs the matched endpoint where its access says: in the transaction of the caller's tenant, or on the bare database. */
export function inScope(exchange: ExchangeState): Promise<Reply> {
  const { endpoint, runtime, params } = matched(exchange)
  const { query, body, caller, client, requestId } = exchange
  const request = { params, query, body, caller, client, requestId, runtime }
  if (typeof endpoint.access === 'string') {
    const ask = {
      ...request,
      get sql() {
        return runtime.database.sql
      },
    }
    return endpoint.handle(ask)
  }
  if (caller === null || caller.tenant === null) throw new Error('a tenant route without a member')
  const tenantId = caller.tenant.id
  if (endpoint.method === 'GET') {
    return readInTenant(runtime.database, tenantId, (sql) => endpoint.handle({ ...request, sql }))
  }
  const { permission, exclusive = false } = endpoint.access
  const scope = { tenantId, sessionId: caller.session.id, roleId: caller.role.id, permission, exclusive }
  return writeInTenant(runtime.database, scope, (sql) => endpoint.handle({ ...request, sql }))
}
