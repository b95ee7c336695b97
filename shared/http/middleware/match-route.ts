import * as v from 'valibot'
import type { RouteGroup } from '#shared/http/group.ts'
import { notFound, Problem, unavailable } from '#shared/base/problem.ts'
import type { Middleware } from '#shared/http/request.ts'
import type { RuntimeSource } from '#shared/lambda/runtime.ts'

/**
 * Finds the endpoint by API Gateway's resource and the method, and opens the runtime. HEAD finds the endpoint of GET, and runs it
 * as a read: API Gateway sends the headers of the response without its body.
 */
export const matchRoute = (group: RouteGroup, source: RuntimeSource): Middleware => {
  const methods = new Map<string, string[]>()
  for (const { path, method } of group.endpoints)
    methods.set(path, [...(methods.get(path) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])])
  const endpoints = new Map(group.endpoints.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint]))
  return {
    before: async ({ event, context }) => {
      const method = event.httpMethod === 'HEAD' ? 'GET' : event.httpMethod
      const endpoint = endpoints.get(`${method} ${event.resource}`)
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
