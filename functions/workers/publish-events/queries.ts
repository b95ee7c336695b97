import type { EventRow } from '#shared/audit/event.ts'
import type { Sql } from '#shared/db/connect.ts'
import type { LeasedJob } from '#shared/queue/queries.ts'

/** Adds a job for the oldest events that have none, if there are any. */
export async function enqueueEvents(sql: Sql): Promise<void> {
  await sql`select app.enqueue_events()`
}

/** Returns the events of a leased job, the oldest first. */
export const readEvents = (sql: Sql, { id, lease_token: lease }: LeasedJob): Promise<EventRow[]> =>
  sql<EventRow>`select * from app.leased_events(${id}, ${lease})`

/** Leaves only these of its events to a leased job. */
export async function keepEvents(sql: Sql, job: LeasedJob, ids: readonly string[]): Promise<void> {
  await sql`select app.keep_events(${job.id}, ${job.lease_token}, string_to_array(${ids.join()}, ',')::uuid[])`
}
