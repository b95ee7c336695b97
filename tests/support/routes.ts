import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { routeGroups } from '#infra/route-groups.ts'
import type { Endpoint } from '#shared/http/endpoint.ts'
import type { RouteGroup } from '#shared/http/group.ts'

/** A route, as its endpoint declares it. */
export interface Route {
  /** `METHOD /path`, as the endpoint's file writes it. */
  readonly name: string
  readonly group: string
  readonly endpoint: Endpoint
  readonly bodyLimitBytes: number
}

export const routesOf = (group: RouteGroup): Route[] =>
  group.endpoints.map((endpoint) => ({
    name: `${endpoint.method} ${endpoint.path}`,
    group: group.name,
    endpoint,
    bodyLimitBytes: group.bodyLimitBytes,
  }))

/** Every route of functions/. A test that loops over them covers a new route without a new line. */
export const routes: readonly Route[] = (await routeGroups()).flatMap(({ group }) => routesOf(group))

/** Each path with the methods that it answers. HEAD belongs to GET. */
export const methodsByPath: ReadonlyMap<string, readonly string[]> = routes.reduce((paths, { endpoint }) => {
  const methods = endpoint.method === 'GET' ? ['GET', 'HEAD'] : [endpoint.method]
  paths.set(endpoint.path, [...(paths.get(endpoint.path) ?? []), ...methods])
  return paths
}, new Map<string, string[]>())

/** The ids of a resource and its parts, by the names of the parameters and fields that take them. */
export type Ids = { readonly id: string } & Readonly<Record<string, string>>

/** Returns the path with ids in place of its parameters. A parameter that `ids` does not name gets the id of the resource. */
export const withId = (path: string, ids: string | Ids): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => (typeof ids === 'string' ? ids : (ids[name] ?? ids.id)))

const UUID = randomUUID()
const integerPaths = new Set(
  routes
    .filter(({ endpoint: { path, params } }) => !v.is(params, idsOf(path, UUID)))
    .map(({ endpoint: { path } }) => path),
)

function idsOf(path: string, id: string): Readonly<Record<string, string>> {
  return Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, id]))
}

/** Returns an id that nothing has, as this path takes it. */
export const unknownId = (path: string): string => (integerPaths.has(path) ? '999999999' : randomUUID())

export const withUnknownId = (path: string): string => withId(path, unknownId(path))

export const takesId = (path: string): boolean => path.includes('{')

/** Returns the fields of an object schema. Throws if there are none, because a loop over none proves nothing. */
export function fieldsOf(schema: Endpoint['body']): { name: string; required: boolean }[] {
  const entries: unknown = schema === null ? null : Reflect.get(schema, 'entries')
  if (typeof entries !== 'object' || entries === null || Object.keys(entries).length === 0) {
    throw new Error('a schema without fields: give the body an object schema, or the tests cannot see what it takes')
  }
  return Object.entries(entries).map(([name, field]: [string, { type?: unknown }]) => ({
    name,
    required: !['optional', 'nullish', 'exact_optional', 'undefinedable'].includes(String(field.type)),
  }))
}
