import type { TicketRun } from '#shared/db/calls.ts'
import { sourceValue } from '#shared/db/composite.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import type { Ticket } from '#shared/identity/ticket.ts'
import type { RequestSource } from '#shared/schema/client.ts'
import type { OwnTenant } from './tenant.ts'

type TenantRow = Omit<OwnTenant, 'second_factor_policy'> & {
  readonly require: Policy['require']
  readonly managers_from: string | null
  readonly everyone_from: string | null
}
type Policy = OwnTenant['second_factor_policy']

const tenantOf = ({ require, managers_from, everyone_from, ...tenant }: TenantRow): OwnTenant => ({
  ...tenant,
  second_factor_policy: { require, managers_from, everyone_from },
})

/** Returns the tenant of the transaction. */
export async function findTenant(sql: TenantTransaction): Promise<OwnTenant> {
  const [tenant] = await sql<TenantRow>`
    select id, slug, legal_name, status, timezone, currency, settings, updated_at,
           app.policy_of(second_factor_managers_from, second_factor_everyone_from) as require,
           second_factor_managers_from as managers_from, second_factor_everyone_from as everyone_from
      from app.tenants where id = (select app.current_tenant())`
  if (tenant === undefined) throw new Error('the tenant of the transaction is gone')
  return tenantOf(tenant)
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

/** Sets whom the ticket's tenant asks for a second factor, and from when on: see app.change_second_factor_policy. */
export async function setSecondFactorPolicy(
  call: TicketRun,
  ticket: Ticket,
  wanted: { require: Policy['require']; graceDays: number; stepUpSeconds: number; source: RequestSource },
): Promise<OwnTenant> {
  const [changed] = await ticket.present(
    (bytes) => call<TenantRow>`
      select id, slug, legal_name, status, timezone, currency, settings, updated_at,
             app.policy_of(second_factor_managers_from, second_factor_everyone_from) as require,
             second_factor_managers_from as managers_from, second_factor_everyone_from as everyone_from
        from app.change_second_factor_policy(
          ${bytes}, ${wanted.require}, ${wanted.graceDays}, ${wanted.stepUpSeconds}, ${sourceValue(wanted.source)}::app.source)`,
  )
  if (changed === undefined) throw new Error('app.change_second_factor_policy returned no row')
  return tenantOf(changed)
}
