import type { Sql } from '#shared/db/connect.ts'

/** Why an address gets no more mail. `suppressed` says that it bounced before. */
export type BounceCause = 'bounce' | 'complaint' | 'suppressed'

/**
 * Records that the mail of a job to an address bounced, or that its recipient complained. Returns whether it stopped the invitations of
 * the tenant. Changes nothing for a job that was not for this address.
 */
export async function recordBounce(
  sql: Sql,
  bounce: { jobId: string; address: string; cause: BounceCause },
): Promise<boolean> {
  const [row] = await sql<{ stopped: boolean }>`
    select stopped from app.record_bounce(${bounce.jobId}, ${bounce.address}, ${bounce.cause})`
  return row?.stopped ?? false
}
