import type { TenantTransaction } from '#shared/db/scope.ts'
import type { Money } from '#shared/schema/money.ts'
import type { SentLine } from './deal.ts'

/** A line with its price. Requires a whole number of positions from 1. */
export interface PricedLine extends Omit<SentLine, 'unit_price'> {
  readonly position: number
  /** Null for a style that the tenant may not order. */
  readonly style_scope: string | null
  readonly size_exists: boolean
  /** Null when no price was sent and no price break qualifies. */
  readonly unit_price: Money | null
  readonly price_source: 'break' | 'manual'
  readonly currency: string
  readonly fits: boolean
  /** Whether the total of all lines is in the range of totals. */
  readonly all_fit: boolean
}

/**
 * Returns the lines with their prices. A line without a price gets that of the price break for the quantity of its style in
 * all lines, also in those with a price. The tenant may order a style that is withdrawn only in a deal that has it already.
 */
export function priceLines(
  sql: TenantTransaction,
  { id, currency, lines }: { readonly id: string; readonly currency: string; readonly lines: readonly SentLine[] },
): Promise<PricedLine[]> {
  return sql<PricedLine>`
    with sent as (
      select *
        from rows from (json_to_recordset(${JSON.stringify(lines)}::text::json)
                        as (style_id uuid, color text, size_id smallint, quantity integer, unit_price numeric(14, 4)))
             with ordinality as l (style_id, color, size_id, quantity, unit_price, position)
    ), prices as (
      select style_id, app.unit_price(style_id, sum(quantity)) as unit_price
        from sent group by style_id
    ), priced as (
      select l.position::integer, l.style_id, l.color, l.size_id, l.quantity,
             s.scope as style_scope, l.size_id is null or z.id is not null as size_exists,
             coalesce(l.unit_price, p.unit_price) as unit_price,
             case when l.unit_price is null then 'break' else 'manual' end as price_source
        from sent l
        join prices p using (style_id)
        left join app.styles s on s.id = l.style_id and (
          s.withdrawn_at is null
          or exists (select from app.deal_lines d
                      where d.tenant_id = (select app.current_tenant()) and d.deal_id = ${id} and d.style_id = s.id))
        left join app.sizes z on z.id = l.size_id
    )
    select p.*, c.code as currency, t.total < 1e12 is not false as fits, sum(t.total) over () < 1e12 is not false as all_fit
      from priced p
      cross join (select ${currency}::text as code) c
      cross join lateral (select round(p.quantity * p.unit_price, app.minor_unit(c.code)) as total) t
     order by position`
}

/** Replaces the lines of a locked deal, which counts as a change of the deal. */
export async function storeLines(sql: TenantTransaction, dealId: string, lines: readonly PricedLine[]): Promise<void> {
  // These statements travel together and run in this order.
  await Promise.all([
    sql`delete from app.deal_lines where tenant_id = (select app.current_tenant()) and deal_id = ${dealId}`,
    sql`
      insert into app.deal_lines
        (tenant_id, deal_id, position, style_id, style_scope, color, size_id, quantity, unit_price, price_source, currency)
      select app.current_tenant(), ${dealId}, l.*
        from json_to_recordset(${JSON.stringify(lines)}::text::json)
             as l (position smallint, style_id uuid, style_scope uuid, color text, size_id smallint, quantity integer,
                   unit_price numeric, price_source text, currency text)`,
    sql`update app.deals set updated_at = clock_timestamp() where id = ${dealId}`,
  ])
}
