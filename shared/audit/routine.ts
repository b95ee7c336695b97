import type { AuditAction } from '#shared/audit/actions.ts'

/**
 * The coming and going of members. Readers may leave it out: in most shops it is most of the entries. The index
 * app.audit_log_of_changes and app.find_audit_entries name the same actions.
 */
export const ROUTINE_ACTIONS = [
  'session.tenant_selected',
  'session.signed_out',
] as const satisfies readonly AuditAction[]
