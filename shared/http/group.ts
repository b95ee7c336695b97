import type { Endpoint } from '#shared/http/endpoint.ts'
import type { Need } from '#shared/needs.ts'

/** A route group: the endpoints of one Lambda, as data. Gateway, grants, tests, the API document and its client are derived from it. */
export interface RouteGroup<Endpoints extends readonly Endpoint[] = readonly Endpoint[]> {
  readonly name: string
  readonly bodyLimitBytes: number
  readonly needs: readonly Need[]
  readonly endpoints: Endpoints
}

/** Declares a route group. Throws when two endpoints answer the same route, or when one needs what the group does not name. */
export function routeGroup<const Endpoints extends readonly Endpoint[]>(
  definition: RouteGroup<Endpoints>,
): RouteGroup<Endpoints> {
  const { name, needs, endpoints } = definition
  const routes = endpoints.map(({ method, path }) => `${method} ${path}`)
  const twice = routes.find((route, index) => routes.indexOf(route) !== index)
  if (twice !== undefined) throw new Error(`Two endpoints answer ${twice}`)
  for (const { method, path, access, limits } of endpoints) {
    const implied: Need[] = []
    if (access !== 'anyone') implied.push('database:app', 'tokens')
    if (limits !== null) implied.push('database:app', 'tokens', 'cache')
    const missing = implied.find((need) => !needs.includes(need))
    if (missing !== undefined) throw new Error(`${method} ${path} needs ${missing}, which ${name} does not name`)
  }
  return definition
}
