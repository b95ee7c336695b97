import type { TenantTransaction } from '#shared/db/scope.ts'
import { isOpen, type TenantStatus } from '#shared/tenant/tenant.ts'

/** Whether the transaction's tenant is one that people may work in. */
export async function tenantIsOpen(sql: TenantTransaction): Promise<boolean> {
  const [tenant] = await sql<{ status: TenantStatus }>`
    select status from app.tenants where id = app.current_tenant()`
  return tenant !== undefined && isOpen(tenant.status)
}
