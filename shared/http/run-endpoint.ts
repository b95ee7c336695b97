import { callByTicket, callInTransaction } from '#shared/db/calls.ts'
import { sessionTransactions, type TenantTransactions, tenantTransactions, unscoped } from '#shared/db/scope.ts'
import {
  type AnyGrant,
  type Answer,
  isTenantAccess,
  requiresPrincipal,
  type TenantAccess,
} from '#shared/http/access.ts'
import { withoutVeto } from '#shared/db/without-veto.ts'
import type { Endpoint } from '#shared/http/endpoint.ts'
import { type KeyedRequest, once } from '#shared/http/once.ts'
import type { Reply } from '#shared/http/reply.ts'
import { type RequestState, matched } from '#shared/http/request.ts'
import type { Runtime } from '#shared/lambda/runtime.ts'
import type { Principal } from '#shared/identity/session.ts'
import { requiredStepUpSeconds } from '#shared/identity/step-up.ts'

/** Runs the matched endpoint with the way to the database that its access grants. */
export function runEndpoint(state: RequestState): Promise<Reply> {
  const { endpoint, runtime } = matched(state)
  return endpoint.revokes ? withoutVeto(runtime.database, () => run(state)) : run(state)
}

function run(state: RequestState): Promise<Reply> {
  const { endpoint, runtime, params } = matched(state)
  const { database, ...withoutDatabase } = runtime
  const { query, body, principal, sentToken, serviceKey, client, requestId, ifMatch, keyedRequest } = state
  const caller = { principal, sentToken, serviceKey, client, requestId, ifMatch }
  const request = { ...caller, params, query, body, runtime: withoutDatabase }
  const handle: Handle = (ways) => endpoint.handle({ ...request, ...ways })
  const { access } = endpoint
  if (!requiresPrincipal(access)) return outsideOfSession(endpoint, database, handle)
  if (principal === null) throw new Error('no principal after the session check')
  if (access === 'key') return handle({})
  const stepUpSeconds =
    principal.kind === 'session' ? requiredStepUpSeconds(principal, endpoint.stepUp, runtime.config.factor) : null
  return isTenantAccess(access)
    ? inTenant(endpoint, access, { principal, database, handle, keyedRequest, stepUpSeconds })
    : inSession(endpoint, { principal, database, handle, stepUpSeconds })
}

type Handle = (ways: Pick<AnyGrant, 'sql' | 'call'>) => Promise<Reply>

interface Run {
  readonly principal: Principal
  readonly database: Runtime['database']
  readonly handle: Handle
  readonly stepUpSeconds: number | null
}

const outsideOfSession = ({ needs }: Endpoint, database: Runtime['database'], handle: Handle) =>
  needs.includes('database') ? handle({ sql: unscoped(database), call: database.call }) : handle({})

function inTenant(
  { method, opener }: Endpoint,
  access: TenantAccess,
  { principal, database, handle, keyedRequest, stepUpSeconds }: Run & { readonly keyedRequest: KeyedRequest | null },
) {
  const { ticket } = principal
  // A called function may lock the tenant. In a transaction that another statement opens, that lock must come first.
  const exclusive = 'exclusive' in access || opener === 'by call'
  const transactions = tenantTransactions(
    database,
    ticket.proof({ permission: access.permission, exclusive, stepUpSeconds }),
  )
  const answer: Answer = (work) =>
    transactions.write((sql) => (keyedRequest === null ? work(sql) : once(sql, keyedRequest, () => work(sql))))
  if (opener === 'by handle') return handle({ sql: { ...transactions, answer } })
  if (opener === 'by call' && keyedRequest === null)
    return handle({ sql: { read: transactions.read }, call: callOf(method, principal, database) })
  if (opener === 'by call')
    return answer((sql) => {
      const read: TenantTransactions['read'] = (work) => work(sql)
      return handle({ sql: { read }, call: ticket.present((bytes) => callInTransaction(sql, bytes)) })
    })
  return method === 'GET' ? transactions.read((sql) => handle({ sql })) : answer((sql) => handle({ sql }))
}

function inSession({ method, opener }: Endpoint, { principal, database, handle, stepUpSeconds }: Run) {
  const transactions = principal.ticket.present((bytes) => sessionTransactions(database, bytes, stepUpSeconds))
  if (opener === 'by handle') return handle({ sql: transactions })
  if (opener === 'by call' || method === 'GET') return handle({ call: callOf(method, principal, database) })
  return transactions.write((sql) => handle({ sql }))
}

const callOf = (method: string, { ticket }: Principal, database: Runtime['database']) =>
  ticket.present((bytes) => callByTicket(database, bytes, { repeatable: method === 'GET' }))
