import type { TenantTransaction } from '#shared/db/scope.ts'
import { Problem } from '#shared/base/problem.ts'
import { isTenantAccess } from '#shared/http/access.ts'
import type { Endpoint } from '#shared/http/endpoint.ts'
import type { Reply } from '#shared/http/reply.ts'

/** An `Idempotency-Key` with its request, as keyed hashes: no table stores what a client sent. */
export interface KeyedRequest {
  readonly keyHash: Buffer
  readonly requestHash: Buffer
}

/** Whether a key has an effect: on each POST in a tenant, unless a repeated request does no harm. */
export const takesKey = ({ method, access, repeatable }: Pick<Endpoint, 'method' | 'access' | 'repeatable'>): boolean =>
  method === 'POST' && isTenantAccess(access) && !repeatable

/**
 * Runs `work` and stores its reply in the same transaction, for 24 hours. Returns the stored reply instead if the principal has
 * sent the same request with this key before; of two at the same time, one waits for the other. Stores no null, and no failure,
 * so that a retry runs again. Throws `idempotency-key-reused` if the key was sent with another request.
 *
 * https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07
 */
export async function once<R extends Reply | null>(
  sql: TenantTransaction,
  { keyHash, requestHash }: KeyedRequest,
  work: () => Promise<R>,
): Promise<R> {
  const [, [stored]] = await Promise.all([
    // The lock needs a statement of its own: one that waits does not see what was committed in between.
    sql`select pg_advisory_xact_lock(hashtextextended(app.current_actor()::text || ${keyHash.toString('hex')}, 0))`,
    sql<{ reply: string; same: boolean }>`
      select reply, request_hash = ${requestHash} as same from app.replies
       where tenant_id = (select app.current_tenant()) and actor_id = (select app.current_actor()) and key_hash = ${keyHash}
         and created_at > now() - interval '24 hours'`,
  ])
  if (stored?.same === false)
    throw new Problem('idempotency-key-reused', { detail: 'The key was sent with another request. Use a new one.' })
  // The route made it, for the same request.
  if (stored !== undefined) return replayed(stored.reply) as R
  const reply = await work()
  if (reply !== null)
    await sql`
      insert into app.replies (tenant_id, key_hash, request_hash, reply)
      values ((select app.current_tenant()), ${keyHash}, ${requestHash}, ${JSON.stringify(reply)})`
  return reply
}

function replayed(stored: string): Reply {
  const reply: Reply = JSON.parse(stored)
  return { ...reply, headers: { ...reply.headers, 'idempotency-replayed': 'true' } }
}
