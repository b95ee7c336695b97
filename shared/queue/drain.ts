import * as v from 'valibot'
import type { Database } from '#shared/db/connect.ts'
import { describeError, log } from '#shared/base/log.ts'
import { countMetric } from '#shared/base/metrics.ts'
import { backoffSeconds } from '#shared/queue/backoff.ts'
import { JOB_KINDS, type JobKind, type JobPayload } from '#shared/queue/kinds.ts'
import { claimJobs, completeJob, failJob, invoking, type LeasedJob, returnJob } from '#shared/queue/queries.ts'

/** How the jobs of one kind are done. */
export interface Work<Kind extends JobKind> {
  readonly kind: Kind
  /** How many jobs are leased, and run, concurrently. */
  readonly concurrency: number
  /** Longer than `concurrency` jobs can take, unless `run` renews the lease. */
  readonly leaseSeconds: number
  /** After so many failed attempts the job is dead-lettered. Null: only a final error ends it. */
  readonly attempts: number | null
  /**
   * Runs one job, possibly for the second time: a worker can die before it completes the job. Returns whether it counts, or
   * 'unfinished' for a job that continues in another invocation.
   */
  readonly run: (job: LeasedJob<JobPayload<Kind>>) => Promise<boolean | 'unfinished'>
  /** Adds the jobs of what waits elsewhere, before each claim. */
  readonly prepare?: () => Promise<void>
  /** Whether a retry cannot help. */
  readonly isFinal: (error: unknown) => boolean
  /** Whether no job of the kind can be done now. The attempt does not count, and the run ends: the next one tries again. */
  readonly isBlocked?: (error: unknown) => boolean
}

/** The job is not one that this version can run. A retry does not help. */
export class UnreadableJob extends Error {
  override name = 'UnreadableJob'
}

type Outcome = 'counts' | 'does not count' | 'blocked'

/**
 * Runs the due jobs of a kind until none is left, they are blocked or `shouldStop` returns true. A job that fails is retried
 * after a backoff, or dead-lettered. Returns how many counted.
 */
export async function drain<Kind extends JobKind>(
  database: Database,
  work: Work<Kind>,
  shouldStop: () => boolean,
): Promise<number> {
  const { kind, concurrency, leaseSeconds, attempts } = work
  let counted = 0
  while (!shouldStop()) {
    await work.prepare?.()
    const jobs = await claimJobs(database.sql, { kind, most: concurrency, leaseSeconds, attempts })
    if (jobs.length === 0) break
    const outcomes = await Promise.all(jobs.map((job) => runJob(database, work, job)))
    counted += outcomes.filter((outcome) => outcome === 'counts').length
    if (outcomes.includes('blocked')) break
  }
  return counted
}

const kinds: { readonly [Kind in JobKind]: { readonly payload: v.GenericSchema<unknown, JobPayload<Kind>> } } =
  JOB_KINDS

async function runJob<Kind extends JobKind>(database: Database, work: Work<Kind>, job: LeasedJob): Promise<Outcome> {
  try {
    const payload = v.safeParse(kinds[work.kind].payload, job.payload)
    if (!payload.success) throw new UnreadableJob('the payload of a job does not parse')
    const counts = await work.run({ ...job, payload: payload.output })
    if (counts === 'unfinished') await returnJob(invoking(database.sql, work.kind), job, 'Unfinished')
    else await completeJob(database.sql, job)
    return counts === true ? 'counts' : 'does not count'
  } catch (error) {
    const { id, attempts } = job
    const name = error instanceof Error ? error.name : 'unknown'
    if (work.isBlocked?.(error) === true) {
      log.error('a job is blocked, and no other of its kind is tried in this run', {
        kind: work.kind,
        job_id: id,
        error: describeError(error),
      })
      countMetric('JobFailed', work.kind)
      await returnJob(database.sql, job, name)
      return 'blocked'
    }
    const spent = work.attempts !== null && attempts >= work.attempts
    const final = error instanceof UnreadableJob || work.isFinal(error) || spent
    const message = final ? 'a job failed and was dead-lettered' : 'a job failed and will be retried'
    log.error(message, { kind: work.kind, job_id: id, attempts, error: describeError(error) })
    countMetric(final ? 'JobDead' : 'JobFailed', work.kind)
    await failJob(database.sql, job, name, final ? null : backoffSeconds(attempts))
    return 'does not count'
  }
}
