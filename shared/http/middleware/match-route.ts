import * as v from 'valibot'
import type { RouteGroup } from '#shared/http/group.ts'
import { notFound, Problem, unavailable } from '#shared/problem.ts'
import type { Middleware } from '#shared/http/request.ts'
import type { RuntimeSource } from '#shared/runtime.ts'

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
      const params = v.safeParse(endpoint.params, event.pathParameters ?? {}, { abortEarly: true })
      if (!params.success) throw notFound('a parameter of the path is malformed')
      try {
        context.request.matched = { endpoint, params: params.output, runtime: await source.open() }
      } catch (error) {
        throw unavailable(error)
      }
    },
  }
}
