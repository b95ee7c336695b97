import { type AuditContext, requestSource } from '#shared/audit/record-audit.ts'
import { invalid, notFound, Problem } from '#shared/base/problem.ts'
import type { CallByTicket } from '#shared/db/calls.ts'
import type { TenantTransactions } from '#shared/db/scope.ts'
import type { TenantPrincipal } from '#shared/identity/session.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'
import type { ApiKey } from './api-key.ts'
import { type ByTicket, findKey, type KeyRefusal } from './queries.ts'

/** What a change of keys needs. */
type ChangeContext = AuditContext & {
  readonly principal: TenantPrincipal
  readonly runtime: RuntimeFor<'pepper'>
  readonly call: CallByTicket
  readonly sql: Pick<TenantTransactions, 'read'>
}

export const DAY_SECONDS = 86_400

export const byTicket = (context: ChangeContext): ByTicket => ({
  call: context.call,
  ticket: context.principal.ticket,
  source: requestSource(context),
  stepUpSeconds: context.runtime.config.factor.stepUpSeconds,
})

/** Returns the key as it is after the change, whose event is published. */
export async function changed({ sql, call }: ChangeContext, id: string): Promise<ApiKey> {
  const [key] = await Promise.all([sql.read((read) => findKey(read, id)), call.invoke('publish-events')])
  if (key === null) throw new Error('the changed key is gone')
  return key
}

/** Throws the problem of a refusal. */
export function refuse(refusal: KeyRefusal, place: number | null = null): never {
  switch (refusal) {
    case 'not-found':
      throw notFound('no API key with this id')
    case 'key-ended':
      throw new Problem('key-ended', { detail: 'The key is revoked or has expired.' })
    case 'key-rotated':
      throw new Problem('key-rotated', { detail: 'The key has got another secret meanwhile.' })
    case 'key-exists':
      throw new Problem('key-exists', { detail: 'A live key has this name.' })
    case 'key-limit':
      throw new Problem('key-limit', { detail: 'The tenant has as many live keys as it may have.' })
    case 'expires-at':
      throw invalid([
        { pointer: '#/expires_at', code: 'unknown', kind: 'a time from one hour on within the longest life' },
      ])
    case 'permission':
      throw invalid([
        { pointer: `#/permissions/${place}`, code: 'unknown', kind: 'a permission that the key may hold' },
      ])
  }
}
