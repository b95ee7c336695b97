import type { Sql } from '#shared/db/connect.ts'

const BATCH = 200

/**
 * Moves failed sign-ins to the audit logs of the users' tenants, batch by batch, until none is left or `shouldStop` returns
 * true. Returns how many it moved. The sign-in itself only adds one row: its duration must not tell how many tenants the
 * user has.
 */
export async function auditFailedSignIns(sql: Sql, shouldStop: () => boolean): Promise<number> {
  let audited = 0
  for (let taken = BATCH; taken === BATCH && !shouldStop(); audited += taken) {
    const [row] = await sql<{ taken: number }>`select app.audit_failed_sign_ins(${BATCH}) as taken`
    taken = row?.taken ?? 0
  }
  return audited
}
