import type { Sql } from '#shared/db/connect.ts'
import { sessionTransactions, tenantTransactions } from '#shared/db/scope.ts'
import { isTenantAccess, requiresSession } from '#shared/http/endpoint.ts'
import type { Reply } from '#shared/http/reply.ts'
import { type RequestState, matched } from '#shared/http/request.ts'

/** Runs the matched endpoint in the transaction that its access requires. */
export function runEndpoint(state: RequestState): Promise<Reply> {
  const { endpoint, runtime, params } = matched(state)
  const { query, body, principal, sentToken, serviceKey, client, requestId, ifMatch } = state
  const { access, method } = endpoint
  const request = { params, query, body, principal, sentToken, serviceKey, client, requestId, ifMatch, runtime }
  if (!requiresSession(access) || (access === 'session' && method === 'GET')) {
    // A getter, because an endpoint without a session may belong to a group without a database.
    const context = {
      ...request,
      get sql() {
        return runtime.database.sql
      },
    }
    return endpoint.handle(context)
  }
  if (principal === null) throw new Error('no principal after the session check')
  const transactions = isTenantAccess(access)
    ? tenantTransactions(
        runtime.database,
        principal.ticket.proof({ permission: access.permission, exclusive: 'exclusive' in access }),
      )
    : principal.ticket.present((bytes) => sessionTransactions(runtime.database, bytes))
  if (typeof access === 'object' && 'transaction' in access) return endpoint.handle({ ...request, sql: transactions })
  const handle = (sql: Sql) => endpoint.handle({ ...request, sql })
  return method === 'GET' ? transactions.read(handle) : transactions.write(handle)
}
