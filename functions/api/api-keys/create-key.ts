import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { hintOf, newApiKey } from '#shared/secret/api-key.ts'
import { hashToken } from '#shared/secret/secret.ts'
import { SentTime, KeyName, NewPermissions, ShownApiKey } from './api-key.ts'
import { byTicket, changed, DAY_SECONDS, refuse } from './change.ts'
import { createKey as create } from './queries.ts'

const DEFAULT_DAYS = 90

export const createKey = endpoint({
  route: 'POST /v1/api-keys',
  // One call of a function, which alone may make keys.
  access: { permission: 'member.manage', transactions: 'by call', stepUp: true },
  summary: 'Create an API key, and show it once',
  description:
    'The key belongs to the tenant and not to the caller. It holds permissions that the caller holds, and that API keys may hold: any other is ' +
    'one and the same 422. It expires after 90 days, or at `expires_at`, from an hour on. The reply alone has the key. The route takes no ' +
    '`Idempotency-Key`, because a stored reply would contain it: after a lost reply, the name is taken, and the key without an owner can be revoked.',
  needs: ['invoke:deliver-mail'],
  repeatable: true,
  body: v.object({ name: KeyName, permissions: NewPermissions, expires_at: v.nullish(SentTime, null) }),
  reply: ShownApiKey,
  problems: ['key-exists', 'key-limit'],
  async handle(context) {
    const { body, call, runtime } = context
    const { maxDays, maxPerTenant } = runtime.config.apiKey
    const key = newApiKey()
    const created = await create(byTicket(context), {
      name: body.name,
      permissions: body.permissions,
      hash: hashToken(runtime.pepper, key),
      hint: hintOf(key),
      expiresAt: body.expires_at,
      ttlSeconds: Math.min(DEFAULT_DAYS, maxDays) * DAY_SECONDS,
      maxSeconds: maxDays * DAY_SECONDS,
      mostKeys: maxPerTenant,
    })
    if (created.refusal !== null) refuse(created.refusal, created.place)
    const [shown] = await Promise.all([changed(context, created.id), call.invoke('deliver-mail')])
    return ok({ ...shown, key })
  },
})
