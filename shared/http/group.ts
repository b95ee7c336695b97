import type { Endpoint } from '#shared/http/endpoint.ts'
import type { ShowProblem } from '#shared/http/show-problem.ts'
import type { Need, ServiceRole } from '#shared/base/needs.ts'

/** The endpoints of one Lambda. Gateway routes, grants, tests, the API document and the client are derived from it. */
export interface RouteGroup<Endpoints extends readonly Endpoint[] = readonly Endpoint[]> {
  readonly name: string
  readonly bodyLimitBytes: number
  /** The needs of all endpoints, sorted, with the role that the group connects as. */
  readonly needs: readonly Need[]
  readonly endpoints: Endpoints
  /** How its failures look. Without this, they are problem details. */
  readonly showProblem?: ShowProblem
}

/** A route group as its Lambda starts it. */
export interface StartedGroup extends RouteGroup {
  /** Reads all endpoints of the group. A start reads those of `endpoints` alone. */
  readonly all?: () => Promise<readonly Endpoint[]>
}

/**
 * Declares a route group, whose needs are those of its endpoints. It connects as identity_app unless it names another role.
 * Throws when two endpoints have the same route.
 */
export function routeGroup<const Endpoints extends readonly Endpoint[]>({
  role = 'app',
  ...definition
}: Omit<RouteGroup<Endpoints>, 'needs'> & { readonly role?: ServiceRole }): RouteGroup<Endpoints> {
  const { endpoints } = definition
  const routes = endpoints.map(({ method, path }) => `${method} ${path}`)
  const twice = routes.find((route, index) => routes.indexOf(route) !== index)
  if (twice !== undefined) throw new Error(`Two endpoints have the route ${twice}`)
  const needs = endpoints.flatMap((endpoint) => endpoint.needs)
  const resolved = needs.map((need) => (need === 'database' ? (`database:${role}` as const) : need))
  return { ...definition, needs: [...new Set(resolved)].toSorted() }
}
