import type { Sql } from '#shared/db/connect.ts'

/** A job that a worker holds. `payload` is what was enqueued; parse it before use. */
export interface LeasedJob {
  readonly id: string
  readonly tenant_id: string | null
  readonly payload: unknown
  readonly attempts: number
  readonly lease_token: string
  readonly created_at: Date
}

/** The kind of a job that nobody does, for whom adding one must take the time of adding another. `maintain` deletes them. */
export const NO_OP = 'idle'

/**
 * Adds a job in the caller's transaction: of its tenant or, when none is set, of the platform. With a key, adding it
 * again changes nothing.
 */
export async function enqueue(sql: Sql, kind: string, payload: object, idempotencyKey?: string): Promise<void> {
  const text = JSON.stringify(payload)
  if (idempotencyKey === undefined) await sql`select app.enqueue(${kind}, ${text}::text::jsonb)`
  else await sql`select app.enqueue(${kind}, ${text}::text::jsonb, ${idempotencyKey})`
}

/** Leases due jobs of a kind, disjoint from those of any other worker. */
export const claimJobs = (
  sql: Sql,
  claim: { kind: string; most: number; leaseSeconds: number; attempts: number },
): Promise<LeasedJob[]> =>
  sql<LeasedJob>`
    select * from app.claim_jobs(${claim.kind}, ${claim.most}, ${claim.leaseSeconds}, ${claim.attempts})`

/** Ends a job; false, and nothing changed, when the lease has gone to another worker. */
export async function completeJob(sql: Sql, job: LeasedJob): Promise<boolean> {
  const ended = await sql`
    update app.jobs set completed_at = now(), lease_token = null, leased_until = null
     where id = ${job.id} and lease_token = ${job.lease_token} and completed_at is null
    returning id`
  return ended.length > 0
}

/** Gives a job back, to be tried again after `delaySeconds`, or puts it aside for good when that is null. */
export async function failJob(sql: Sql, job: LeasedJob, error: string, delaySeconds: number | null): Promise<boolean> {
  const ended = await sql`
    update app.jobs
       set lease_token = null, leased_until = null, last_error = ${error.slice(0, 200)},
           run_at = now() + make_interval(secs => ${delaySeconds ?? 0}::double precision),
           dead_at = case when ${delaySeconds === null} then now() end
     where id = ${job.id} and lease_token = ${job.lease_token} and completed_at is null
    returning id`
  return ended.length > 0
}
