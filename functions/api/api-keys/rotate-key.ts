import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { fault } from '#shared/schema/fault.ts'
import { hintOf, newApiKey } from '#shared/secret/api-key.ts'
import { hashToken } from '#shared/secret/secret.ts'
import { SentTime, ShownApiKey } from './api-key.ts'
import { byTicket, changed, DAY_SECONDS, refuse } from './change.ts'
import { rotateKey as rotate } from './queries.ts'

const MOST_OVERLAP = 7 * DAY_SECONDS
const RANGE = fault({ code: 'out-of-range', min: 0, max: MOST_OVERLAP, type: 'an integer' })

export const rotateKey = endpoint({
  route: 'POST /v1/api-keys/{id}/rotate',
  access: { permission: 'member.manage', transactions: 'by call', stepUp: true },
  summary: 'Replace the secret of an API key, and show the new one once',
  description:
    'The previous secret is valid for `overlap_seconds` more, and the one before it no longer. 0: the next request with the previous one is ' +
    'refused. Without `expires_at` the key expires when it did. `replaces` is `rotated_at` of the key that the client saw, or `created_at`: ' +
    '409 if its secret was replaced since. The route takes no `Idempotency-Key`, because a stored reply would contain the key.',
  revokes: true,
  repeatable: true,
  body: v.object({
    overlap_seconds: v.optional(
      v.pipe(v.number(), v.integer(RANGE), v.minValue(0, RANGE), v.maxValue(MOST_OVERLAP, RANGE), v.examples([3600])),
      DAY_SECONDS,
    ),
    expires_at: v.nullish(SentTime, null),
    replaces: v.nullish(SentTime, null),
  }),
  reply: ShownApiKey,
  problems: ['key-ended', 'key-rotated'],
  async handle(context) {
    const { body, params, runtime } = context
    const key = newApiKey()
    const refusal = await rotate(byTicket(context), {
      id: params.id,
      hash: hashToken(runtime.pepper, key),
      hint: hintOf(key),
      overlapSeconds: body.overlap_seconds,
      expiresAt: body.expires_at,
      replaces: body.replaces,
      maxSeconds: runtime.config.apiKey.maxDays * DAY_SECONDS,
    })
    if (refusal !== null) refuse(refusal)
    return ok({ ...(await changed(context, params.id)), key })
  },
})
