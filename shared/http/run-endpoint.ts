import { callByTicket } from '#shared/db/calls.ts'
import { sessionTransactions, tenantTransactions, unscoped } from '#shared/db/scope.ts'
import { type AnyGrant, isTenantAccess, requiresSession, type TenantAccess } from '#shared/http/access.ts'
import { withoutVeto } from '#shared/db/without-veto.ts'
import type { Endpoint } from '#shared/http/endpoint.ts'
import type { Reply } from '#shared/http/reply.ts'
import { type RequestState, matched } from '#shared/http/request.ts'
import type { Runtime } from '#shared/lambda/runtime.ts'
import type { Principal } from '#shared/identity/session.ts'

/** Runs the matched endpoint with the way to the database that its access grants. */
export function runEndpoint(state: RequestState): Promise<Reply> {
  const { endpoint, runtime } = matched(state)
  return endpoint.revokes ? withoutVeto(runtime.database, () => run(state)) : run(state)
}

function run(state: RequestState): Promise<Reply> {
  const { endpoint, runtime, params } = matched(state)
  const { database, ...withoutDatabase } = runtime
  const { query, body, principal, sentToken, serviceKey, client, requestId, ifMatch } = state
  const caller = { principal, sentToken, serviceKey, client, requestId, ifMatch }
  const request = { ...caller, params, query, body, runtime: withoutDatabase }
  const handle: Handle = (ways) => endpoint.handle({ ...request, ...ways })
  const { access } = endpoint
  if (!requiresSession(access)) return outsideOfSession(endpoint, database, handle)
  if (principal === null) throw new Error('no principal after the session check')
  return isTenantAccess(access)
    ? inTenant(endpoint, access, { principal, database, handle })
    : inSession(endpoint, { principal, database, handle })
}

type Handle = (ways: Pick<AnyGrant, 'sql' | 'call'>) => Promise<Reply>

interface Run {
  readonly principal: Principal
  readonly database: Runtime['database']
  readonly handle: Handle
}

const outsideOfSession = ({ needs }: Endpoint, database: Runtime['database'], handle: Handle) =>
  needs.includes('database') ? handle({ sql: unscoped(database), call: database.call }) : handle({})

function inTenant({ method, opener }: Endpoint, access: TenantAccess, { principal, database, handle }: Run) {
  const proof = principal.ticket.proof({ permission: access.permission, exclusive: 'exclusive' in access })
  const transactions = tenantTransactions(database, proof)
  if (opener === 'by handle') return handle({ sql: transactions })
  if (opener === 'by call')
    return handle({ sql: { read: transactions.read }, call: callOf(method, principal, database) })
  return transactions[method === 'GET' ? 'read' : 'write']((sql) => handle({ sql }))
}

function inSession({ method, opener }: Endpoint, { principal, database, handle }: Run) {
  const transactions = principal.ticket.present((bytes) => sessionTransactions(database, bytes))
  if (opener === 'by handle') return handle({ sql: transactions })
  if (opener === 'by call' || method === 'GET') return handle({ call: callOf(method, principal, database) })
  return transactions.write((sql) => handle({ sql }))
}

const callOf = (method: string, { ticket }: Principal, database: Runtime['database']) =>
  ticket.present((bytes) => callByTicket(database, bytes, { repeatable: method === 'GET' }))
