import type { Endpoint } from '#shared/http/endpoint.ts'

/** A route group: the endpoints of one Lambda, as data. Gateway, grants, tests, the API document and its client are derived from it. */
export interface RouteGroup<Endpoints extends readonly Endpoint[] = readonly Endpoint[]> {
  readonly name: string
  readonly bodyLimitBytes: number
  readonly endpoints: Endpoints
}

/** Declares a route group. Throws when two endpoints answer the same route. */
export function routeGroup<const Endpoints extends readonly Endpoint[]>(
  definition: RouteGroup<Endpoints>,
): RouteGroup<Endpoints> {
  const routes = definition.endpoints.map(({ method, path }) => `${method} ${path}`)
  const twice = routes.find((route, index) => routes.indexOf(route) !== index)
  if (twice !== undefined) throw new Error(`Two endpoints answer ${twice}`)
  return definition
}
