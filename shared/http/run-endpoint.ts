import { type TenantTransactions, type TenantTransaction, tenantTransactions } from '#shared/db/scope.ts'
import type { Reply } from '#shared/http/reply.ts'
import { type RequestState, matched } from '#shared/http/request.ts'

/** Runs the matched endpoint where its access says: in the transaction of the caller's tenant, or on the bare database. */
export function runEndpoint(state: RequestState): Promise<Reply> {
  const { endpoint, runtime, params } = matched(state)
  const { query, body, principal, client, requestId } = state
  const request = { params, query, body, principal, client, requestId, runtime }
  if (typeof endpoint.access === 'string') {
    const ask = {
      ...request,
      get sql() {
        return runtime.database.sql
      },
    }
    return endpoint.handle(ask)
  }
  if (principal === null || principal.tenant === null) throw new Error('a tenant route without a member')
  const { access } = endpoint
  const scope = {
    tenantId: principal.tenant.id,
    sessionId: principal.session.id,
    roleId: principal.role.id,
    permission: access.permission,
    exclusive: 'exclusive' in access,
  }
  const door = tenantTransactions(runtime.database, scope)
  const handle = (sql: TenantTransaction | TenantTransactions) => endpoint.handle({ ...request, sql })
  if ('transaction' in access) return handle(door)
  return endpoint.method === 'GET' ? door.read(handle) : door.write(handle)
}
