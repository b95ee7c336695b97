import type postgres from 'postgres'
import * as v from 'valibot'
import { exampleOfSchema } from '#shared/http/openapi.ts'
import { encodeCursor } from '#shared/schema/page.ts'
import { fieldsOf, type Route, routes, withId } from '#tests/support/routes.ts'
import { type Call, expectStatus } from './http-client.ts'

/** A read with its filters, as each of some tenants sends it. */
export interface ScaleRead {
  readonly name: string
  /** Of each tenant, in the order of the tenants. */
  readonly paths: readonly string[]
  /** Who reads in place of the tenants' owners. */
  readonly authorization?: string
}

/** A read that was not measured, and why. */
export interface SkippedRead {
  readonly name: string
  readonly reason: string
}

/** A tenant whose owner reads. */
export interface Reader {
  readonly tenantId: string
  readonly token: string
}

/** The tables of the ids in paths that are not named as the path is. */
const TABLES: Readonly<Record<string, string>> = { members: 'memberships', 'price-breaks': 'styles' }

const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString()

/** Values for fields of queries that have no example, or whose example names no row. */
const VALUES: Readonly<Record<string, (sql: postgres.Sql, tenantId: string) => string | Promise<string>>> = {
  action: () => 'deal.created',
  after: async (sql) => {
    const [middle] = await sql<{ xact: string; id: string }[]>`
      select xact::text, id from app.events order by xact, id offset (select count(*) / 2 from app.events) limit 1`
    return encodeCursor([middle?.xact ?? '', middle?.id ?? ''])
  },
  actor: (sql, tenantId) => idOf(sql, 'memberships', tenantId, 'user_id'),
  // A whole page of the audit log of both databases lies after it, and before `to`.
  from: () => hoursAgo(365 * 24),
  // Every row of the tenant is compared.
  q: () => 'nobody-of-this-name',
  style_id: (sql, tenantId) => idOf(sql, 'styles', tenantId),
  to: () => hoursAgo(1),
  vendor: () => 'ss-activewear',
}

const PAGED = new Set(['cursor', 'limit'])
const PAGE = 'limit=20'

/**
 * Returns every GET of the route table: as it is, with each of its filters, and for a list of more than one page the second
 * page. `call` is the service on the database of `sql`, whose readers, service key and rows are used.
 */
export async function readsOf(
  sql: postgres.Sql,
  call: Call,
  { readers, serviceKey }: { readers: readonly Reader[]; serviceKey: { authorization: string } },
): Promise<{ reads: ScaleRead[]; skipped: SkippedRead[] }> {
  const reads: ScaleRead[] = []
  const skipped: SkippedRead[] = []
  const add = async (
    name: string,
    { access }: Route['endpoint'],
    pathFor: (reader: Reader) => Promise<string>,
  ): Promise<readonly string[]> => {
    const by = access === 'service' ? { authorization: serviceKey.authorization } : {}
    try {
      const paths: string[] = []
      for (const reader of readers) {
        const path = await pathFor(reader)
        expectStatus(await call(`GET ${path}`, { token: reader.token, ...by }), 200, path)
        paths.push(path)
      }
      reads.push({ name, paths, ...by })
      return paths
    } catch (error) {
      skipped.push({ name, reason: error instanceof Error ? error.message.slice(0, 100) : String(error) })
      return []
    }
  }
  for (const route of routes.filter(({ endpoint }) => endpoint.method === 'GET')) {
    const fields = route.endpoint.query === null ? [] : fieldsOf(route.endpoint.query)
    const required = fields.filter((field) => field.required).map(({ name }) => name)
    const filters = fields.map(({ name }) => name).filter((name) => !required.includes(name) && !PAGED.has(name))
    const bare = await add(route.name, route.endpoint, (reader) => pathOf(sql, route, reader, required))
    if (bare.length === 0) continue
    for (const filter of filters)
      await add(`${route.name}, by ${filter}`, route.endpoint, (reader) =>
        pathOf(sql, route, reader, [...required, filter]),
      )
    const pages: (string | null)[] = []
    for (const [at, reader] of readers.entries()) pages.push(await nextPage(call, bare[at] ?? '', reader))
    if (pages.every((page) => page !== null)) reads.push({ name: `${route.name}, second page of 20`, paths: pages })
  }
  return { reads, skipped }
}

async function pathOf(
  sql: postgres.Sql,
  route: Route,
  { tenantId }: Reader,
  fields: readonly string[],
): Promise<string> {
  const { path, query } = route.endpoint
  const [, resource] = /([^/]+)\/\{/.exec(path) ?? []
  const table = resource === undefined ? undefined : (TABLES[resource] ?? resource.replaceAll('-', '_'))
  const id = table === undefined ? '' : await idOf(sql, table, tenantId)
  const search = new URLSearchParams()
  for (const field of fields) {
    const schema = query === null ? null : Reflect.get(query.entries, field)
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
