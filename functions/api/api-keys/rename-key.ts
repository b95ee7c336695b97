import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { ApiKey, KeyName } from './api-key.ts'
import { byTicket, changed, refuse } from './change.ts'
import { renameKey as rename } from './queries.ts'

export const renameKey = endpoint({
  route: 'PATCH /v1/api-keys/{id}',
  access: { permission: 'member.manage', transactions: 'by call', stepUp: true },
  summary: 'Rename an API key. Its permissions never change: make another key',
  body: v.object({ name: KeyName }),
  reply: ApiKey,
  problems: ['key-exists', 'key-ended'],
  async handle(context) {
    const { body, params } = context
    const refusal = await rename(byTicket(context), { id: params.id, name: body.name })
    if (refusal !== null) refuse(refusal)
    return ok(await changed(context, params.id))
  },
})
