import type { TenantTransaction } from '#shared/db/scope.ts'

/** Returns whether people may work in the transaction's tenant. */
export async function tenantIsOpen(sql: TenantTransaction): Promise<boolean> {
  const [tenant] = await sql<{ open: boolean }>`
    select app.is_open(status) as open from app.tenants where id = (select app.current_tenant())`
  return tenant?.open ?? false
}
