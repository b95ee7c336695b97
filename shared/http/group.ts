import type { Endpoint } from '#shared/http/endpoint.ts'

/** A route group: the endpoints of one Lambda, as data. Gateway, grants, tests and documents are derived from it. */
export interface RouteGroup {
  readonly name: string
  readonly bodyLimitBytes: number
  readonly endpoints: readonly Endpoint[]
}

/** Declares a route group. Throws when two endpoints answer the same route. */
export function routeGroup(definition: RouteGroup): RouteGroup {
  const routes = definition.endpoints.map(({ method, path }) => `${method} ${path}`)
  const twice = routes.find((route, index) => routes.indexOf(route) !== index)
  if (twice !== undefined) throw new Error(`Two endpoints answer ${twice}`)
  return definition
}
