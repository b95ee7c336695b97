import * as v from 'valibot'
import type { Endpoint } from '#shared/http/endpoint.ts'
import type { StartedGroup } from '#shared/http/group.ts'
import { notFound, Problem, unavailable } from '#shared/base/problem.ts'
import { once } from '#shared/base/once.ts'
import type { Middleware } from '#shared/http/request.ts'
import type { RuntimeSource } from '#shared/lambda/runtime.ts'

/**
 * Finds the endpoint by API Gateway's resource and the method, and opens the runtime. HEAD finds the endpoint of GET, and runs it
 * as a read: API Gateway sends the headers of the response without its body.
 */
export const matchRoute = (group: StartedGroup, source: RuntimeSource): Middleware => {
  const { all = async () => group.endpoints } = group
  const started = byRoute(group.endpoints)
  const others = once(async () => byRoute(await all()))
  return {
    before: async ({ event, context }) => {
      const method = event.httpMethod === 'HEAD' ? 'GET' : event.httpMethod
      const route = `${method} ${event.resource}`
      const endpoint = started.get(route) ?? (await others()).get(route)
      if (endpoint === undefined) throw noSuchRoute(await all(), event.resource)
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

const byRoute = (endpoints: readonly Endpoint[]) => new Map(endpoints.map((endpoint) => [endpoint.route, endpoint]))

function noSuchRoute(endpoints: readonly Endpoint[], wanted: string): Problem {
  const methods = endpoints.flatMap(({ path, method }) => (path === wanted ? [method] : []))
  if (methods.length === 0) return notFound('no such route')
  const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
  return new Problem(405, { headers: { allow } })
}
