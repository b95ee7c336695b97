import type { TenantTransaction } from '#shared/db/scope.ts'
import type { OwnTenant } from './tenant.ts'

/** Returns the tenant of the transaction. */
export async function findTenant(sql: TenantTransaction): Promise<OwnTenant> {
  const [tenant] = await sql<OwnTenant>`
    select id, slug, legal_name, status, timezone, currency, settings, updated_at
      from app.tenants where id = (select app.current_tenant())`
  if (tenant === undefined) throw new Error('the tenant of the transaction is gone')
  return tenant
}

/** Returns whether Postgres knows the time zone by exactly this name. */
export async function knowsTimezone(sql: TenantTransaction, name: string): Promise<boolean> {
  const found = await sql`select from pg_timezone_names where name = ${name}`
  return found.length > 0
}

/** Stores the fields that a request may change. Throws a PostgresError 23503 for a new currency when a deal has the old one. */
export async function updateTenant(sql: TenantTransaction, tenant: OwnTenant): Promise<OwnTenant> {
  const [changed] = await sql<Pick<OwnTenant, 'settings' | 'updated_at'>>`
    update app.tenants
       set legal_name = ${tenant.legal_name}, timezone = ${tenant.timezone}, currency = ${tenant.currency},
           settings = ${JSON.stringify(tenant.settings)}::text::jsonb, updated_at = clock_timestamp()
     where id = ${tenant.id}
    returning settings, updated_at`
  return { ...tenant, ...changed }
}
