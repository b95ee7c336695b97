import type postgres from 'postgres'
import * as v from 'valibot'
import { exampleOfSchema } from '#shared/http/openapi.ts'
import { fieldsOf, type Route, routes, withId } from '#tests/support/routes.ts'
import type { Call } from './http-client.ts'

/** A read with its filters, as each of some tenants sends it. */
export interface ScaleRead {
  readonly name: string
  /** Of each tenant, in the order of the tenants. */
  readonly paths: readonly string[]
}

/** A tenant whose owner reads. */
export interface Reader {
  readonly tenantId: string
  readonly token: string
}

/** The table of a tenant that has the id in a path, by the path up to its parameter. */
const TABLES: Readonly<Record<string, string>> = {
  '/v1/catalog/styles/{': 'styles',
  '/v1/catalog/sync-runs/{': 'sync_runs',
  '/v1/deals/{': 'deals',
  '/v1/designs/{': 'designs',
  '/v1/members/{': 'memberships',
  '/v1/price-breaks/{': 'styles',
}

const monthsAgo = (months: number): string => new Date(Date.now() - months * 30 * 86_400_000).toISOString()

/** Values for fields of queries that have no example, or whose example names no row. */
const VALUES: Readonly<Record<string, (sql: postgres.Sql, tenantId: string) => string | Promise<string>>> = {
  action: () => 'deal.created',
  actor: (sql, tenantId) => idOf(sql, 'memberships', tenantId, 'user_id'),
  from: () => monthsAgo(3),
  // Every row of the tenant is compared.
  q: () => 'nobody-of-this-name',
  style_id: (sql, tenantId) => idOf(sql, 'styles', tenantId),
  to: () => monthsAgo(3),
  vendor: () => 'ss-activewear',
}

const PAGED = new Set(['cursor', 'limit'])
const PAGE = 'limit=20'

/**
 * Returns every GET of the route table: as it is, with each of its filters, and for a list of more than one page the second
 * page. `call` is the service on the database of `sql`, whose readers and rows are used.
 */
export async function readsOf(sql: postgres.Sql, call: Call, readers: readonly Reader[]): Promise<ScaleRead[]> {
  const found: ScaleRead[] = []
  for (const route of routes.filter(({ endpoint }) => endpoint.method === 'GET')) {
    const fields = route.endpoint.query === null ? [] : fieldsOf(route.endpoint.query)
    const required = fields.filter((field) => field.required).map(({ name }) => name)
    const filters = fields.map(({ name }) => name).filter((name) => !required.includes(name) && !PAGED.has(name))
    const paths = (filter?: string) =>
      Promise.all(
        readers.map(({ tenantId }) =>
          pathOf(sql, route, tenantId, [...required, ...(filter === undefined ? [] : [filter])]),
        ),
      )
    const bare = await paths()
    found.push({ name: route.name, paths: bare })
    for (const filter of filters) found.push({ name: `${route.name}, by ${filter}`, paths: await paths(filter) })
    const pages: (string | null)[] = []
    for (const [at, reader] of readers.entries()) pages.push(await nextPage(call, bare[at] ?? '', reader))
    if (pages.every((page) => page !== null)) found.push({ name: `${route.name}, second page of 20`, paths: pages })
  }
  return found
}

async function pathOf(sql: postgres.Sql, route: Route, tenantId: string, fields: readonly string[]): Promise<string> {
  const { path, query } = route.endpoint
  const table = TABLES[path.slice(0, path.indexOf('{') + 1)]
  if (path.includes('{') && table === undefined)
    throw new Error(`${path} takes an id: say in tests/bench/scale-routes.ts which table has it`)
  const id = table === undefined ? '' : await idOf(sql, table, tenantId)
  const search = new URLSearchParams()
  for (const field of fields) {
    const schema = query === null ? null : Reflect.get(query, 'entries')[field]
    const value = VALUES[field]
    search.set(field, value === undefined ? exampleOf(schema) : await value(sql, tenantId))
  }
  return `${withId(path, id)}${search.size === 0 ? '' : `?${search.toString()}`}`
}

/** Returns the last word that a filter takes, or the example of the field. */
function exampleOf(schema: v.GenericSchema): string {
  const wrapped = Reflect.get(schema, 'wrapped') ?? schema
  const words = [...(v.getDescription(wrapped) ?? '').matchAll(/`(\w+)`/g)].map(([, word = '']) => word)
  return words.at(-1) ?? String(exampleOfSchema(wrapped))
}

async function idOf(sql: postgres.Sql, table: string, tenantId: string, column = 'id'): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    select ${sql(column)} as id from app.${sql.unsafe(table)} where tenant_id = ${tenantId} order by id limit 1`
  if (row === undefined) throw new Error(`the tenant has no row in ${table}`)
  return row.id
}

/** Returns the path of the second page of this list, or null if it has one page, or is no list. */
async function nextPage(call: Call, path: string, { token }: Reader): Promise<string | null> {
  const paged = `${path}${path.includes('?') ? '&' : '?'}${PAGE}`
  const { status, body } = await call(`GET ${paged}`, { token })
  if (status !== 200) return null
  const { next_cursor: cursor = null } = JSON.parse(body)
  return typeof cursor === 'string' ? `${paged}&cursor=${cursor}` : null
}
