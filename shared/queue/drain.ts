import type { Database } from '#shared/db/connect.ts'
import { countMetric, describeError, log } from '#shared/log.ts'
import { backoffSeconds } from '#shared/queue/backoff.ts'
import { claimJobs, completeJob, failJob, type LeasedJob } from '#shared/queue/queries.ts'

/** How the jobs of one kind are done. */
export interface Work {
  readonly kind: string
  /** How many are held, and worked on, at once. */
  readonly atOnce: number
  /** Longer than `atOnce` of them can take. */
  readonly leaseSeconds: number
  /** After so many the job is put aside for good. */
  readonly attempts: number
  /** Does one job, which may have been done before: a worker can die between this and the job's end. True when it counts. */
  readonly run: (job: LeasedJob) => Promise<boolean>
  /** Whether trying again is of no use. */
  readonly isFinal: (error: unknown) => boolean
}

/**
 * Does the jobs of a kind that are due, until there is none or `enough` says so; one that fails comes back after a backoff,
 * or is put aside. Returns how many counted.
 */
export async function drain(database: Database, work: Work, shouldStop: () => boolean): Promise<number> {
  const { kind, atOnce, leaseSeconds, attempts } = work
  let counted = 0
  while (!shouldStop()) {
    const jobs = await claimJobs(database.sql, { kind, most: atOnce, leaseSeconds, attempts })
    if (jobs.length === 0) break
    const outcomes = await Promise.all(jobs.map((job) => runJob(database, work, job)))
    counted += outcomes.filter((counts) => counts).length
  }
  return counted
}

async function runJob(database: Database, work: Work, job: LeasedJob): Promise<boolean> {
  try {
    const counts = await work.run(job)
    await completeJob(database.sql, job)
    return counts
  } catch (error) {
    const final = work.isFinal(error) || job.attempts >= work.attempts
    const { id, attempts } = job
    log.error('a job failed', { kind: work.kind, job_id: id, attempts, final, error: describeError(error) })
    countMetric(final ? 'JobDead' : 'JobFailed', work.kind)
    const name = error instanceof Error ? error.name : 'unknown'
    await failJob(database.sql, job, name, final ? null : backoffSeconds(attempts))
    return false
  }
}
