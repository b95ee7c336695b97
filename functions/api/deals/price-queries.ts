import type { TenantTransaction } from '#shared/db/scope.ts'
import type { Money } from '#shared/schema/money.ts'
import type { PriceBreak } from './price-break.ts'

/** Returns the price breaks of a style, by ascending quantity. Returns null for a style that the tenant may not order. */
export async function findPriceBreaks(sql: TenantTransaction, styleId: string): Promise<PriceBreak[] | null> {
  const rows = await sql<PriceBreak | { readonly min_quantity: null }>`
    select b.min_quantity, b.unit_price
      from app.styles s
      left join app.price_breaks b on b.tenant_id = (select app.current_tenant()) and b.style_id = s.id
     where s.id = ${styleId}
     order by b.min_quantity`
  return rows.length === 0 ? null : rows.filter((row) => row.min_quantity !== null)
}

/** Replaces the price breaks of a style that the tenant may order. */
export async function storePriceBreaks(
  sql: TenantTransaction,
  styleId: string,
  breaks: readonly PriceBreak[],
): Promise<void> {
  await sql`delete from app.price_breaks where tenant_id = (select app.current_tenant()) and style_id = ${styleId}`
  await sql`
    insert into app.price_breaks (tenant_id, style_id, style_scope, min_quantity, unit_price)
    select app.current_tenant(), s.id, s.scope, b.min_quantity, b.unit_price
      from app.styles s,
           json_to_recordset(${JSON.stringify(breaks)}::text::json) as b (min_quantity integer, unit_price numeric)
     where s.id = ${styleId}`
}

/** The price of a quantity of a style. `fits` is whether the total is in the range of totals. */
export interface Quote {
  readonly min_quantity: number | null
  readonly unit_price: Money | null
  readonly total: Money | null
  readonly fits: boolean
}

/**
 * Returns the price of a quantity, with nulls when no break qualifies. Returns null for a style that the tenant may not order, or
 * that is withdrawn.
 */
export async function quote(sql: TenantTransaction, styleId: string, quantity: number): Promise<Quote | null> {
  const [found] = await sql<Quote>`
    select (select max(b.min_quantity) from app.price_breaks b
             where b.tenant_id = (select app.current_tenant()) and b.style_id = s.id and b.min_quantity <= ${quantity}::integer
           ) as min_quantity,
           p.unit_price, t.total, t.total < 1e12 is not false as fits
      from app.styles s
      cross join app.unit_price(s.id, ${quantity}::integer) as p (unit_price)
      cross join lateral (
        select round(${quantity}::integer * p.unit_price, app.minor_unit(o.currency)) as total
          from app.tenants o where o.id = (select app.current_tenant())) t
     where s.id = ${styleId} and s.withdrawn_at is null`
  return found ?? null
}
