import type { Sql } from '#shared/db/connect.ts'
import { TenantProof } from '#shared/db/scope.ts'
import { JOB_KINDS, type JobKind, type JobPayload } from '#shared/queue/kinds.ts'

/** A job that a worker has leased. */
export interface LeasedJob<Payload = unknown> {
  readonly id: string
  readonly tenant_id: string | null
  readonly payload: Payload
  readonly attempts: number
  readonly lease_token: string
  readonly created_at: string
}

/** Returns the tag that invokes the Lambda of a kind after the commit of its statement, if the kind has one. */
export function invoking(sql: Sql, kind: JobKind): Sql {
  const { invokes } = JOB_KINDS[kind]
  return invokes === null ? sql : sql.invoking(invokes)
}

/**
 * Adds a job in the caller's transaction: of its tenant or, when none is set, of the platform. Where the kind says so, its
 * Lambda is invoked after the commit. Returns the id of the job. Adding a job again under the same key changes nothing, and
 * returns the id of the first one.
 */
export async function enqueue<Kind extends JobKind>(
  sql: Sql,
  kind: Kind,
  payload: JobPayload<Kind>,
  idempotencyKey?: string,
): Promise<string> {
  const text = JSON.stringify(payload)
  const run = invoking(sql, kind)
  const [job] =
    idempotencyKey === undefined
      ? await run<{ id: string }>`select app.enqueue(${kind}, ${text}::text::jsonb) as id`
      : await run<{ id: string }>`select app.enqueue(${kind}, ${text}::text::jsonb, ${idempotencyKey}) as id`
  if (job === undefined) throw new Error('app.enqueue returned no row')
  return job.id
}

/**
 * Does the work of `enqueue` and takes it back: the job is rolled back inside the transaction, which still commits, and the
 * call of its Lambda is only a rehearsal. So response time does not reveal that nothing was enqueued.
 */
export async function rehearseEnqueue<Kind extends JobKind>(
  sql: Sql,
  kind: Kind,
  payload: JobPayload<Kind>,
): Promise<void> {
  const { invokes } = JOB_KINDS[kind]
  const run = invokes === null ? sql : sql.invoking(invokes, 'rehearsal')
  await run`select app.rehearse_enqueue(${kind}, ${JSON.stringify(payload)}::text::jsonb)`
}

/** Leases due jobs of a kind. Concurrent workers never lease the same job. Each login claims its own kinds (app.claimant_of). */
export const claimJobs = (
  sql: Sql,
  { kind, most, leaseSeconds, attempts }: { kind: string; most: number; leaseSeconds: number; attempts: number | null },
): Promise<LeasedJob[]> => sql<LeasedJob>`select * from app.claim_jobs(${kind}, ${most}, ${leaseSeconds}, ${attempts})`

/** Extends a lease. Returns false when it has ended: another worker may have the job by now. */
export async function renewLease(sql: Sql, job: LeasedJob, leaseSeconds: number): Promise<boolean> {
  const [row] = await sql<{ renewed: boolean }>`
    select app.renew_lease(${job.id}, ${job.lease_token}, ${leaseSeconds}) as renewed`
  return row?.renewed ?? false
}

/** Completes a job. Returns false, and changes nothing, when another worker has the lease by now. */
export async function completeJob(sql: Sql, job: LeasedJob): Promise<boolean> {
  const [row] = await sql<{ ended: boolean }>`
    select app.end_lease(${job.id}, ${job.lease_token}, null, null) as ended`
  return row?.ended ?? false
}

/** Ends a failed attempt: the job is retried after `delaySeconds`, or dead-lettered when that is null. Returns false like `completeJob`. */
export async function failJob(sql: Sql, job: LeasedJob, error: string, delaySeconds: number | null): Promise<boolean> {
  const [row] = await sql<{ ended: boolean }>`
    select app.end_lease(${job.id}, ${job.lease_token}, ${error}, ${delaySeconds}) as ended`
  return row?.ended ?? false
}

/** Gives a job back, as if it had not been claimed. Returns false like `completeJob`. */
export async function returnJob(sql: Sql, job: LeasedJob, error: string): Promise<boolean> {
  const [row] = await sql<{ ended: boolean }>`
    select app.return_job(${job.id}, ${job.lease_token}, ${error}) as ended`
  return row?.ended ?? false
}

/** Returns the proof for the tenant of a job. It ends with the lease. */
export const proofOfLease = ({ id, lease_token: lease }: LeasedJob): TenantProof =>
  new TenantProof(() => ({
    toRead: (sql) => sql`select app.enter_to_read(app.lease_ticket(${id}, ${lease}))`,
    toWrite: (sql) => sql`select app.enter_to_write(app.lease_ticket(${id}, ${lease}), null, false)`,
  }))
