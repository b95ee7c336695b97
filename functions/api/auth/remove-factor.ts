import { requestSource } from '#shared/audit/record-audit.ts'
import { notFound } from '#shared/base/problem.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { removeFactor as remove } from './factor-queries.ts'

export const removeFactor = endpoint({
  route: 'DELETE /v1/auth/factors/{id}',
  access: { session: true, transactions: 'by call', stepUp: 'again' },
  summary: 'Remove a second factor and end the other sessions',
  description: 'The recovery codes are void when no factor is left.',
  revokes: true,
  problems: ['last-factor'],
  needs: ['invoke:deliver-mail'],
  async handle(context) {
    const { call, params, principal, runtime } = context
    const { stepUpSeconds } = runtime.config.factor
    const removed = await remove(call, principal.ticket, {
      id: params.id,
      stepUpSeconds,
      source: requestSource(context),
    })
    if (!removed) throw notFound('the user has no factor with this id')
    await call.invoke('deliver-mail')
    return noContent()
  },
})
