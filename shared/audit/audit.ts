import { type AuditEntry, audit } from '#shared/audit/queries.ts'
import type { Sql } from '#shared/db/connect.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import type { ClientInfo } from '#shared/schema/client.ts'
import type { Runtime } from '#shared/runtime.ts'
import { keyedHash } from '#shared/secret/secret.ts'
import type { TenantPrincipal } from '#shared/session/session.ts'

/** The hash under which a client's address is kept. */
export const ipHash = ({ pepper }: Pick<Runtime, 'pepper'>, { ip }: ClientInfo): Buffer => keyedHash(pepper, 'ip', ip)

/** What of a request goes into each of its audit entries. */
export interface AuditContext {
  readonly client: ClientInfo
  readonly requestId: string
  readonly runtime: Pick<Runtime, 'pepper'>
}

/** Appends an entry that says from which request, and from which address, the change came. */
export const record = (
  sql: Sql,
  { client, requestId, runtime }: AuditContext,
  entry: Omit<AuditEntry, 'requestId' | 'ipHash'>,
): Promise<void> => audit(sql, { ...entry, requestId, ipHash: ipHash(runtime, client) })

/** The same of what a member did in their tenant, in the transaction of the request. */
export const recordByMember = (
  context: AuditContext & { readonly principal: TenantPrincipal; readonly sql: TenantTransaction },
  entry: Omit<AuditEntry, 'tenantId' | 'actorUserId' | 'requestId' | 'ipHash'>,
): Promise<void> => {
  const { principal, sql } = context
  return record(sql, context, { ...entry, tenantId: principal.tenant.id, actorUserId: principal.user.id })
}
