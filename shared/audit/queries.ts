import type { AuditAction } from '#shared/audit/actions.ts'
import type { Sql } from '#shared/db/connect.ts'

/** A change, for the audit log. `before` and `after` hold what changed and nothing secret. */
export interface AuditEntry {
  readonly action: AuditAction
  readonly targetId: string | null
  readonly before?: object
  readonly after?: object
}

/** Where a change comes from. `actorUserId` is null for the platform, `ipHash` for a job. */
export interface AuditSource {
  readonly tenantId: string
  readonly actorUserId: string | null
  readonly requestId: string
  readonly ipHash: Uint8Array | null
}

export async function insertAuditEntry(
  sql: Sql,
  { tenantId, actorUserId, requestId, ipHash }: AuditSource,
  { action, targetType, targetId, ...change }: AuditEntry & { readonly targetType: string },
): Promise<void> {
  const before = change.before === undefined ? null : JSON.stringify(change.before)
  const after = change.after === undefined ? null : JSON.stringify(change.after)
  await sql`
    insert into app.audit_log
      (tenant_id, actor_user_id, action, target_type, target_id, before, after, request_id, ip_hash)
    values
      (${tenantId}, ${actorUserId}, ${action}, ${targetType}, ${targetId}, ${before}::text::jsonb, ${after}::text::jsonb,
       ${requestId}, ${ipHash})`
}
