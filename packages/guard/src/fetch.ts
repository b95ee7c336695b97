import { randomUUID } from 'node:crypto'
import type { Guard } from './guard-of.ts'
import type { AnyPrincipal } from './principal.ts'
import { checkRoutes, type PrincipalOf, type Routes } from './routes.ts'

/**
 * Returns a handler of Request and Response that calls `handle` for an allowed request of a listed route, and responds to any other
 * itself. A route is a method and a path: `GET /orders/{id}`.
 */
export function protectFetch<const Listed extends Routes, Rest extends unknown[]>(
  guard: Guard,
  routes: Listed,
  handle: (request: Request, principal: PrincipalOf<Listed>, ...rest: Rest) => Response | Promise<Response>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  checkRoutes(routes)
  return async (request, ...rest) => {
    const requestId = randomUUID()
    try {
      const principal = await guard.authorizeRoute(asked(request, requestId), routes)
      // Null only for a public route, and then the type of the handler says so.
      return labelled(await handle(request, principal as never, ...rest), requestId, principal)
    } catch (error) {
      const refused = guard.refusalOf(error, requestId)
      if (refused === null) throw error
      return refused.fetchResponse()
    }
  }
}

/** What the guard reads of a request. */
export const asked = (request: Request, requestId: string) => ({
  authorization: request.headers.get('authorization'),
  method: request.method,
  path: new URL(request.url).pathname,
  requestId,
})

/** Returns the response with the ids of its tenant and request, in place of any that it has. */
export function labelled(response: Response, requestId: string, principal: AnyPrincipal | null): Response {
  // The headers of a response of `fetch` cannot be changed.
  const copy = new Response(response.body, response)
  copy.headers.set('x-request-id', requestId)
  if (principal !== null) copy.headers.set('x-tenant-id', principal.tenant.id)
  return copy
}
