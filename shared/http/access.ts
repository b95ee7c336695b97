import { type TenantDoor, type TenantSql, tenantDoor } from '#shared/db/scope.ts'
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
  const { access } = endpoint
  const scope = {
    tenantId: caller.tenant.id,
    sessionId: caller.session.id,
    roleId: caller.role.id,
    permission: access.permission,
    exclusive: 'exclusive' in access,
  }
  const door = tenantDoor(runtime.database, scope)
  const handle = (sql: TenantSql | TenantDoor) => endpoint.handle({ ...request, sql })
  if ('transaction' in access) return handle(door)
  return endpoint.method === 'GET' ? door.read(handle) : door.write(handle)
}
