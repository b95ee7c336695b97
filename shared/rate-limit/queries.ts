import type { Sql } from '#shared/db/connect.ts'
import type { Run } from '#shared/db/run.ts'
import type { Limit, Refusal } from '#shared/rate-limit/limit.ts'

const hex = (bytes: Buffer | undefined): string | null => bytes?.toString('hex') ?? null

/** What became of an attempt at its limits. `taken` is the argument of app.give_back_attempts after the attempt has succeeded. */
export interface CountedAttempt {
  readonly refusal: Refusal | null
  readonly taken: string
}

/**
 * Looks at all limits of one attempt, and counts it against each only if none refuses it, atomically under any concurrency. `refused`
 * is the limit that has already refused the attempt: then it counts nothing, in as many statements.
 */
export async function countAttempt(
  sql: Run,
  limits: readonly Limit[],
  refused: Refusal | null = null,
): Promise<CountedAttempt> {
  const asked = JSON.stringify(
    limits.map(({ subject, limit, windowSeconds, partOf, unlessKnown, counts }) => ({
      key: hex(subject),
      most: limit,
      window_seconds: windowSeconds,
      part_of: hex(partOf),
      known_network: hex(unlessKnown),
      on_failure: counts === 'failures',
    })),
  )
  const before = refused === null ? null : limits.indexOf(refused.limit)
  const [row] = await sql<{
    refused_by: number | null
    retry_after_seconds: number
    taken: readonly (readonly [key: string, window: string])[]
  }>`
    select * from app.count_attempts(${asked}::text::jsonb, ${before}::int)`
  if (row === undefined) throw new Error('app.count_attempts returned no row')
  const limit = limits[row.refused_by ?? -1]
  const returned = new Set(limits.filter(({ counts }) => counts === 'until success').map(({ subject }) => hex(subject)))
  return {
    refusal: refused ?? (limit === undefined ? null : { limit, retryAfterSeconds: row.retry_after_seconds }),
    taken: JSON.stringify(row.taken.filter(([key]) => returned.has(key))),
  }
}

/** Deletes the attempts that were counted against a limit and its parts. Returns the subjects of both. */
export async function forgetWithParts(sql: Sql, { subject }: Limit): Promise<Buffer[]> {
  const rows = await sql<{ key: Buffer }>`
    select key from app.forget_attempts(${subject}) as key`
  return rows.map(({ key }) => key)
}
