import { AUDIT_ACTIONS, type AuditAction, isPublished } from '#shared/audit/actions.ts'
import type { AuditValues } from '#shared/audit/fields.ts'
import type { Sql } from '#shared/db/connect.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import type { ClientInfo, RequestSource } from '#shared/schema/client.ts'
import { keyedHash } from '#shared/secret/secret.ts'
import type { Pepper } from '#shared/secret/token-secrets.ts'
import type { ActingPrincipal } from '#shared/identity/session.ts'

/** Returns the keyed hash of a client's address: no address is stored in clear. */
export const ipHash = ({ pepper }: Pick<Pepper, 'pepper'>, { ip }: ClientInfo): Buffer => keyedHash(pepper, 'ip', ip)

/** The parts of a request that go into its audit entries. */
export interface AuditContext {
  readonly client: ClientInfo
  readonly requestId: string
  readonly runtime: Pick<Pepper, 'pepper'>
}

/** The parts of a request in a tenant that go into its audit entries. */
export interface MemberContext extends AuditContext {
  readonly principal: Pick<ActingPrincipal, 'tenant'>
  readonly sql: TenantTransaction
}

/** Where a change comes from. */
interface AuditSource extends RequestSource {
  readonly sql: Sql
  readonly tenantId: string
}

/** A change, for the audit log. `before` and `after` hold what changed and nothing secret. */
export interface AuditEntry {
  readonly action: AuditAction
  readonly targetId: string | null
  readonly before?: AuditValues
  readonly after?: AuditValues
}

const json = (change: object | undefined): string | null => (change === undefined ? null : JSON.stringify(change))

/**
 * Appends an entry to the audit log, in the transaction of the change and in the scope of its tenant. The actor is the one of
 * that scope. An endpoint of a tenant passes its request context; other callers name the source. The database adds the event of
 * a published action (migration 0022), and its publisher is invoked after the commit.
 */
export async function recordAudit(context: MemberContext | AuditSource, entry: AuditEntry): Promise<void> {
  const {
    sql,
    tenantId,
    requestId,
    clientRequestId = null,
    ipHash = null,
  } = 'principal' in context ? sourceOf(context) : context
  const { action, targetId, before, after } = entry
  const run = isPublished(action) ? sql.invoking('publish-events') : sql
  await run`
    insert into app.audit_log
      (tenant_id, action, target_type, target_id, before, after, request_id, client_request_id,
       ip_hash)
    values
      (${tenantId}, ${action}, ${AUDIT_ACTIONS[action].target}, ${targetId}, ${json(before)}::text::jsonb,
       ${json(after)}::text::jsonb, ${requestId}, ${clientRequestId},
       app.tenant_ip_hash(${ipHash}, ${tenantId}))`
}

/** Returns what audit entries say about a request. */
export const requestSource = ({ client, requestId, runtime }: AuditContext) => ({
  requestId,
  clientRequestId: client.requestId,
  ipHash: ipHash(runtime, client),
})

const sourceOf = (context: MemberContext): AuditSource => ({
  sql: context.sql,
  tenantId: context.principal.tenant.id,
  ...requestSource(context),
})
