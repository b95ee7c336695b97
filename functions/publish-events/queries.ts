import type { EventRow } from '#shared/audit/event.ts'
import type { Sql } from '#shared/db/connect.ts'

/** An event that this publisher has leased. */
export interface LeasedEvent extends EventRow {
  readonly xact: string
  readonly attempts: number
  readonly lease_token: string
}

/** How the lease of an event ends: published, due again after `delay` seconds, or dead-lettered. */
export interface Outcome {
  readonly xact: string
  readonly id: string
  readonly error: string | null
  readonly delay: number | null
}

/** Leases due events, the oldest first. Concurrent publishers never lease the same event. */
export const claimEvents = (sql: Sql, most: number, leaseSeconds: number): Promise<LeasedEvent[]> =>
  sql<LeasedEvent>`select * from app.claim_events(${most}, ${leaseSeconds})`

/** Ends leases of one claim. Leaves those that have expired and that another publisher has by now. */
export async function endLeases(sql: Sql, leaseToken: string, outcomes: readonly Outcome[]): Promise<void> {
  await sql`select app.end_event_leases(${leaseToken}, ${JSON.stringify(outcomes)}::text::jsonb)`
}
