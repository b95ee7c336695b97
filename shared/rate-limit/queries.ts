import type { Sql } from '#shared/db/connect.ts'
import type { Run } from '#shared/db/run.ts'
import type { Limit, Refusal } from '#shared/rate-limit/limit.ts'

const hex = (bytes: Buffer | undefined): string | null => bytes?.toString('hex') ?? null

/**
 * Counts one attempt against each limit in turn, up to the first that refuses it, atomically under any concurrency. Returns
 * null when all allow it. `refused` is the limit that has already refused the attempt: then it counts nothing, with the same
 * work.
 */
export async function countAttempt(
  sql: Run,
  limits: readonly Limit[],
  refused: Refusal | null = null,
): Promise<Refusal | null> {
  const asked = JSON.stringify(
    limits.map((limit) => ({
      key: hex(limit.subject),
      most: limit.limit,
      window_seconds: limit.windowSeconds,
      part_of: hex(limit.partOf),
      known_network: hex(limit.unlessKnown),
    })),
  )
  const before = refused === null ? null : limits.indexOf(refused.limit)
  const [row] = await sql<{ refused_by: number | null; retry_after_seconds: number }>`
    select * from app.count_attempts(${asked}::text::jsonb, ${before}::int)`
  const limit = limits[row?.refused_by ?? -1]
  if (limit === undefined) return refused
  return refused ?? { limit, retryAfterSeconds: row?.retry_after_seconds ?? limit.windowSeconds }
}

/** Returns the argument of app.settle_attempts, which does what each limit says of a success. */
export const settlement = (limits: readonly Limit[]): string =>
  JSON.stringify(
    limits
      .filter(({ onSuccess }) => onSuccess !== undefined)
      .map(({ subject, windowSeconds, onSuccess }) => ({
        key: hex(subject),
        window_seconds: windowSeconds,
        forget: onSuccess === 'forget',
      })),
  )

/** Deletes the attempts that were counted against a limit and its parts. Returns the subjects of both. */
export async function forgetWithParts(sql: Sql, { subject }: Limit): Promise<Buffer[]> {
  const rows = await sql<{ key: Buffer }>`
    select key from app.forget_attempts(${subject}) as key`
  return rows.map(({ key }) => key)
}
