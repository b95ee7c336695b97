import type { Sql } from '#shared/db/connect.ts'

/** One line of a tenant's audit log. `before` and `after` hold what changed and nothing secret. */
export interface AuditEntry {
  readonly tenantId: string
  readonly actorUserId: string | null
  readonly action: string
  readonly targetType: 'membership' | 'invitation' | 'session' | 'tenant' | 'user' | 'vendor_account' | 'data_key'
  readonly targetId: string | null
  readonly before?: object
  readonly after?: object
  readonly requestId: string | null
  readonly ipHash: Uint8Array | null
}

/** Appends to the audit log, in the transaction of the change and in its tenant's scope. */
export async function audit(sql: Sql, entry: AuditEntry): Promise<void> {
  const before = entry.before === undefined ? null : JSON.stringify(entry.before)
  const after = entry.after === undefined ? null : JSON.stringify(entry.after)
  await sql`
    insert into app.audit_log
      (tenant_id, actor_user_id, action, target_type, target_id, before, after, request_id, ip_hash)
    values
      (${entry.tenantId}, ${entry.actorUserId}, ${entry.action}, ${entry.targetType}, ${entry.targetId},
       ${before}::text::jsonb, ${after}::text::jsonb, ${entry.requestId}, ${entry.ipHash})`
}
