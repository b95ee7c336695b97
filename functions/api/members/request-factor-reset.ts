import { requestSource } from '#shared/audit/record-audit.ts'
import { forbidden, notFound } from '#shared/base/problem.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Member } from '#shared/identity/member.ts'
import { findMember, requestFactorReset as request } from './member-queries.ts'

const REFUSALS = {
  'no-member': () => notFound('no member with this id'),
  'no-factor': () => notFound('the member has no second factor'),
  beyond: () => forbidden('the principal may not give the role of the member'),
  oneself: () => forbidden('nobody vouches for themselves'),
} as const

export const requestFactorReset = endpoint({
  route: 'POST /v1/members/{id}/factor-reset',
  // One call of a function, which checks the session and the role again under locks.
  access: { permission: 'member.manage', transactions: 'by call', stepUp: true },
  summary:
    'Vouch for a member who lost the phone and the recovery codes. The second factor is removed hours later, unless it is cancelled',
  // While a reset is open, another request changes nothing.
  repeatable: true,
  needs: ['invoke:deliver-mail'],
  reply: Member,
  async handle(context) {
    const { params, principal, call, sql, runtime } = context
    const { resetHours, stepUpSeconds } = runtime.config.factor
    const source = requestSource(context)
    const refusal = await request(call, principal.ticket, { id: params.id, resetHours, stepUpSeconds, source })
    if (refusal !== null) throw REFUSALS[refusal]()
    await call.invoke('deliver-mail')
    const member = await sql.read((tx) => findMember(tx, params.id))
    if (member === null) throw notFound('the member is gone')
    return ok(member)
  },
})
