import type { TenantTransaction } from '#shared/db/scope.ts'
import type { OwnTenant } from './tenant.ts'

const WIRE = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'

/** Returns the tenant of the transaction. */
export async function findTenant(sql: TenantTransaction): Promise<OwnTenant> {
  const [tenant] = await sql<OwnTenant>`
    select id, slug, legal_name, status, timezone, currency, settings, updated_at,
           jsonb_build_object(
             'require', case when second_factor_everyone_from is not null then 'everyone'
                             when second_factor_managers_from is not null then 'managers' else 'none' end,
             'managers_from', to_char(second_factor_managers_from at time zone 'UTC', ${WIRE}),
             'everyone_from', to_char(second_factor_everyone_from at time zone 'UTC', ${WIRE})) as second_factor_policy
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

/** Sets whom the tenant asks for a second factor, and from when on. A date that stands only moves earlier. */
export async function setSecondFactorPolicy(
  sql: TenantTransaction,
  { require, graceDays }: { require: OwnTenant['second_factor_policy']['require']; graceDays: number },
): Promise<OwnTenant> {
  await sql`
    update app.tenants
       set second_factor_managers_from = case when ${require} <> 'none'
             then least(second_factor_managers_from, now() + make_interval(days => ${graceDays})) end,
           second_factor_everyone_from = case when ${require} = 'everyone'
             then least(second_factor_everyone_from, now() + make_interval(days => ${graceDays})) end,
           updated_at = clock_timestamp()
     where id = (select app.current_tenant())`
  return findTenant(sql)
}
