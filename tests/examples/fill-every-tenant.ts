import { proofOfOperator } from '#functions/workers/operate/queries.ts'
import type { Database } from '#shared/db/connect.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'

/** Small enough that a batch holds its locks for less than 100 ms. */
const BATCH = 200
const REASON = 'release 2 fills the new column'

/** What the job does in one tenant: it changes up to `most` rows that are not done yet. Returns how many. */
export type FillBatch = (sql: TenantTransaction, most: number) => Promise<number>

/**
 * Acts in every tenant, with the login of operators: it may list the tenants, and enters each by a ticket, so that row security shows
 * that tenant's rows and no others. Each batch commits alone. So a second run continues where the first one stopped, and a run after
 * the last changes nothing. Returns how many rows it changed; null when `shouldStop` ended it before the last tenant.
 */
export async function fillEveryTenant(
  operator: Database,
  fillBatch: FillBatch,
  shouldStop: () => boolean = () => false,
): Promise<number | null> {
  const tenants = await operator.sql<{ id: string }>`select id from app.tenants order by id`
  let filled = 0
  for (const { id } of tenants) {
    const proof = proofOfOperator(operator.sql, id, REASON)
    for (let changed = BATCH; changed === BATCH; filled += changed) {
      if (shouldStop()) return null
      changed = await proof.write(operator, (sql) => fillBatch(sql, BATCH))
    }
  }
  return filled
}
