import type { Sql } from '#shared/db/connect.ts'

/** Why an address gets no more mail. `suppressed` says that it bounced before. */
export type BounceCause = 'bounce' | 'complaint' | 'suppressed'

/**
 * Records that the mail of a job to an address bounced, or that its recipient complained. Returns whether it is news. Changes
 * nothing for a job that was not for this address.
 */
export async function recordBounce(
  sql: Sql,
  bounce: { jobId: string; address: string; cause: BounceCause },
): Promise<boolean> {
  const [row] = await sql<{ recorded: boolean }>`
    select app.record_bounce(${bounce.jobId}, ${bounce.address}, ${bounce.cause}) as recorded`
  return row?.recorded ?? false
}
