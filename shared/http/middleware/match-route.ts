import type { RouteGroup } from '#shared/http/group.ts'
import { notFound, Problem, unavailable } from '#shared/problem.ts'
import type { Middleware } from '#shared/http/request.ts'
import type { RuntimeSource } from '#shared/runtime.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const INTEGER = /^[1-9]\d{0,8}$/

/** Finds the endpoint by API Gateway's resource and the method, and opens the runtime. */
export const matchRoute = (group: RouteGroup, source: RuntimeSource): Middleware => {
  const methods = new Map<string, string[]>()
  for (const { path, method } of group.endpoints) methods.set(path, [...(methods.get(path) ?? []), method])
  const endpoints = new Map(group.endpoints.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint]))
  return {
    before: async ({ event, context }) => {
      const endpoint = endpoints.get(`${event.httpMethod} ${event.resource}`)
      if (endpoint === undefined) {
        const allowed = methods.get(event.resource)
        if (allowed === undefined) throw notFound('no such route')
        throw new Problem(405, { headers: { allow: allowed.join(', ') } })
      }
      const params: Record<string, string> = {}
      for (const [name, value = ''] of Object.entries(event.pathParameters ?? {})) {
        if (!(endpoint.integerId ? INTEGER : UUID).test(value)) throw notFound('an id in the path is malformed')
        params[name] = value.toLowerCase()
      }
      try {
        context.request.matched = { endpoint, params, runtime: await source.open() }
      } catch (error) {
        throw unavailable(error)
      }
    },
  }
}
