import * as v from 'valibot'
import type { Database } from '#shared/db/connect.ts'
import { describeError, log } from '#shared/log.ts'
import { countMetric } from '#shared/metrics.ts'
import { backoffSeconds } from '#shared/queue/backoff.ts'
import { JOB_KINDS, type JobKind, type JobPayload } from '#shared/queue/kinds.ts'
import { claimJobs, completeJob, failJob, type LeasedJob } from '#shared/queue/queries.ts'

/** How the jobs of one kind are done. */
export interface Work<Kind extends JobKind> {
  readonly kind: Kind
  /** How many jobs are leased, and run, concurrently. */
  readonly concurrency: number
  /** Longer than `concurrency` jobs can take. */
  readonly leaseSeconds: number
  /** After so many failed attempts the job is dead-lettered. */
  readonly attempts: number
  /** Runs one job, possibly for the second time: a worker can die before it completes the job. Returns whether it counts. */
  readonly run: (job: LeasedJob<JobPayload<Kind>>) => Promise<boolean>
  /** Whether a retry cannot help. */
  readonly isFinal: (error: unknown) => boolean
}

/** The job is not one that this version can run. A retry does not help. */
export class UnreadableJob extends Error {
  override name = 'UnreadableJob'
}

/**
 * Runs the due jobs of a kind until none is left or `shouldStop` returns true. A job that fails is retried after a backoff,
 * or dead-lettered. Returns how many counted.
 */
export async function drain<Kind extends JobKind>(
  database: Database,
  work: Work<Kind>,
  shouldStop: () => boolean,
): Promise<number> {
  const { kind, concurrency, leaseSeconds, attempts } = work
  let counted = 0
  while (!shouldStop()) {
    const jobs = await claimJobs(database.sql, { kind, most: concurrency, leaseSeconds, attempts })
    if (jobs.length === 0) break
    const outcomes = await Promise.all(jobs.map((job) => runJob(database, work, job)))
    counted += outcomes.filter((counts) => counts).length
  }
  return counted
}

const kinds: { readonly [Kind in JobKind]: { readonly payload: v.GenericSchema<unknown, JobPayload<Kind>> } } =
  JOB_KINDS

async function runJob<Kind extends JobKind>(database: Database, work: Work<Kind>, job: LeasedJob): Promise<boolean> {
  try {
    const payload = v.safeParse(kinds[work.kind].payload, job.payload)
    if (!payload.success) throw new UnreadableJob('the payload of a job does not parse')
    const counts = await work.run({ ...job, payload: payload.output })
    await completeJob(database.sql, job)
    return counts
  } catch (error) {
    const final = error instanceof UnreadableJob || work.isFinal(error) || job.attempts >= work.attempts
    const { id, attempts } = job
    const message = final ? 'a job failed and was dead-lettered' : 'a job failed and will be retried'
    log.error(message, { kind: work.kind, job_id: id, attempts, error: describeError(error) })
    countMetric(final ? 'JobDead' : 'JobFailed', work.kind)
    const name = error instanceof Error ? error.name : 'unknown'
    await failJob(database.sql, job, name, final ? null : backoffSeconds(attempts))
    return false
  }
}
