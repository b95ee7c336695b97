import * as v from 'valibot'
import { notFound } from '#shared/base/problem.ts'
import { relyingParty } from '#shared/base/relying-party.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { renameFactor as rename } from './factor-queries.ts'
import { Factor, FactorName } from './factor.ts'

export const renameFactor = endpoint({
  route: 'PATCH /v1/auth/factors/{id}',
  access: { session: true, transactions: 'by call' },
  summary: 'Rename a second factor',
  audit: { none: 'only its owner sees the name' },
  body: v.object({ name: FactorName }),
  reply: Factor,
  async handle({ body, call, params, principal, runtime }) {
    const rpId = relyingParty(runtime.config)?.rpId
    const factor = await rename(call, principal.ticket, { id: params.id, name: body.name, rpId })
    if (factor === null) throw notFound('the user has no factor with this id')
    return ok(factor)
  },
})
