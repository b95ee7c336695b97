import type { TenantTransaction } from '#shared/db/scope.ts'
import type { Money } from '#shared/schema/money.ts'
import { END, type Key, type ListRow } from '#shared/schema/page.ts'
import type { Deal, DealLine, ListedDeal, Status } from './deal.ts'

export interface DealSearch {
  readonly statuses: readonly Status[]
  readonly q: string | null
  readonly before: Key | null
  readonly limit: number
}

/** Returns the deals whose customer's name contains `q`, or whose number is `q`, newest first: up to `limit` + 1 of them. */
export async function searchDeals(
  sql: TenantTransaction,
  { statuses, q, before, limit }: DealSearch,
): Promise<ListRow<ListedDeal>[]> {
  const [createdAt, id] = before ?? END
  const pattern = q === null ? null : `%${q.replace(/[\\%_]/g, '\\$&')}%`
  const rows = await sql<ListedDeal & { readonly sort_key: string }>`
    select d.id, d.number, d.customer_name, d.status, d.currency, d.created_by, d.created_by_key, d.created_at, d.updated_at,
           (select round(coalesce(sum(l.total), 0), app.minor_unit(d.currency)) from app.deal_lines l
             where l.tenant_id = d.tenant_id and l.deal_id = d.id) as total,
           to_json(d.created_at) as sort_key
      from app.deals d
     where d.tenant_id = (select app.current_tenant())
       and d.status = any (string_to_array(${statuses.join(',')}, ','))
       and (${pattern}::text is null or d.number::text = ${q}::text
            or lower(d.customer_name collate "und-x-icu") like lower(${pattern}::text collate "und-x-icu"))
       and (d.created_at, d.id) < (${createdAt}::text::timestamptz, ${id}::uuid)
     order by d.created_at desc, d.id desc
     limit ${limit + 1}`
  return rows.map(({ sort_key, ...item }) => ({ item, key: [sort_key, item.id] }))
}

/** Returns the deal with its lines and all prices, or null. */
export async function findDeal(sql: TenantTransaction, id: string): Promise<Deal | null> {
  // Both statements travel together. Separate rows keep prices decimal: in JSON they would be floating-point numbers.
  const [[deal], lines] = await Promise.all([
    sql<ListedDeal>`
      select d.id, d.number, d.customer_name, d.status, d.currency, d.created_by, d.created_by_key, d.created_at, d.updated_at,
             (select round(coalesce(sum(l.total), 0), app.minor_unit(d.currency)) from app.deal_lines l
               where l.tenant_id = d.tenant_id and l.deal_id = d.id) as total
        from app.deals d
       where d.id = ${id}`,
    sql<DealLine>`
      select l.id, json_build_object('id', s.id, 'style_number', s.style_number, 'name', s.name) as style, l.color,
             case when z.id is not null then json_build_object('id', z.id, 'code', z.code) end as size,
             l.quantity, l.unit_price, l.price_source, l.total
        from app.deal_lines l
        join app.styles s on s.id = l.style_id
        left join app.sizes z on z.id = l.size_id
       where l.tenant_id = (select app.current_tenant()) and l.deal_id = ${id}
       order by l.position`,
  ])
  return deal === undefined ? null : { ...deal, lines }
}

/** Locks a deal until the transaction ends, so that its changes take turns. Returns it with its lines, or null. */
export async function lockDeal(sql: TenantTransaction, id: string): Promise<Deal | null> {
  // These statements travel together and run in this order, so that the deal is read after the lock.
  const [, deal] = await Promise.all([sql`select from app.deals where id = ${id} for no key update`, findDeal(sql, id)])
  return deal
}

/** Creates a deal in the tenant's currency, which the lock keeps from changing. */
export async function insertDeal(sql: TenantTransaction, { customerName }: { customerName: string }): Promise<Deal> {
  const [row] = await sql<ListedDeal & { readonly total: Money }>`
    insert into app.deals (tenant_id, customer_name, currency)
    select t.id, ${customerName}, t.currency
      from app.tenants t where t.id = (select app.current_tenant()) for key share
    returning id, number, customer_name, status, currency, created_by, created_by_key, created_at, updated_at,
              round(0::numeric, app.minor_unit(currency)) as total`
  if (row === undefined) throw new Error('the deal was not inserted')
  return { ...row, lines: [] }
}

/** Changes a locked deal. Returns the time of the change. */
export async function updateDeal(
  sql: TenantTransaction,
  { id, customerName, status }: { id: string; customerName: string; status: Status },
): Promise<string> {
  const [row] = await sql<{ updated_at: string }>`
    update app.deals set customer_name = ${customerName}, status = ${status}, updated_at = clock_timestamp()
     where id = ${id} returning updated_at`
  if (row === undefined) throw new Error('the locked deal is gone')
  return row.updated_at
}
