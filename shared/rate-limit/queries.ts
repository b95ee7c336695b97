import type { Sql } from '#shared/db/connect.ts'
import type { Limit, Refusal } from '#shared/rate-limit/limit.ts'

/** Counts one attempt, atomically under any concurrency. Returns null when it is allowed. */
export async function countAttempt(sql: Sql, limit: Limit): Promise<Refusal | null> {
  const [row] = await sql<{ allowed: boolean; retry_after_seconds: number }>`
    select * from app.count_attempt(${limit.subject}, ${limit.limit}, ${limit.windowSeconds})`
  return row?.allowed === true ? null : { limit, retryAfterSeconds: row?.retry_after_seconds ?? limit.windowSeconds }
}

export async function forgetAttempts(sql: Sql, limit: Limit): Promise<void> {
  await sql`delete from app.rate_limits where key = ${limit.subject}`
}
