import { AUDIT_ACTIONS } from '#shared/audit/actions.ts'
import { type AuditEntry, type AuditSource, insertAuditEntry } from '#shared/audit/queries.ts'
import type { Sql } from '#shared/db/connect.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import type { ClientInfo } from '#shared/schema/client.ts'
import type { Runtime } from '#shared/runtime.ts'
import { keyedHash } from '#shared/secret/secret.ts'
import type { TenantPrincipal } from '#shared/session/session.ts'

/** Returns the keyed hash of a client's address: no address is stored in clear. */
export const ipHash = ({ pepper }: Pick<Runtime, 'pepper'>, { ip }: ClientInfo): Buffer => keyedHash(pepper, 'ip', ip)

/** The parts of a request that go into its audit entries. */
export interface AuditContext {
  readonly client: ClientInfo
  readonly requestId: string
  readonly runtime: Pick<Runtime, 'pepper'>
}

/** A request of a member, in a transaction of their tenant. */
export interface MemberAuditContext extends AuditContext {
  readonly principal: TenantPrincipal
  readonly sql: TenantTransaction
}

/**
 * Appends an entry to the audit log, in the transaction of the change and in the scope of its tenant. An endpoint of a
 * tenant passes its request context; other callers name the source.
 */
export function recordAudit(
  context: MemberAuditContext | (AuditSource & { readonly sql: Sql }),
  entry: AuditEntry,
): Promise<void> {
  const source = 'principal' in context ? sourceOf(context) : context
  return insertAuditEntry(context.sql, source, { ...entry, targetType: AUDIT_ACTIONS[entry.action] })
}

const sourceOf = ({ principal, client, requestId, runtime }: MemberAuditContext): AuditSource => ({
  tenantId: principal.tenant.id,
  actorUserId: principal.user.id,
  requestId,
  ipHash: ipHash(runtime, client),
})
