import { randomUUID } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import { asked, labelled } from './fetch.ts'
import type { AuthorizeOptions, Guard } from './guard-of.ts'
import type { Permission } from './permission.ts'
import type { PrincipalKind, PrincipalOfKind } from './principal.ts'

/**
 * Returns a middleware of Hono for the routes behind it: it sets `c.var.principal`, or responds itself. Null requires no permission.
 * It also responds when the database refuses a transaction of the handler (TenantRefused).
 */
export const requirePermission =
  <Kind extends PrincipalKind = 'session'>(
    guard: Guard,
    permission: Permission | null,
    options: AuthorizeOptions<Kind> = {},
  ): MiddlewareHandler<{ Variables: { principal: PrincipalOfKind<Kind> } }> =>
  async (c, next) => {
    const requestId = randomUUID()
    try {
      const principal = await guard.authorizeRequest(asked(c.req.raw, requestId), permission, options)
      c.set('principal', principal)
      await next()
      // Hono turns an error of the handler into a response, and keeps the error here.
      const refused = guard.refusalOf(c.error, requestId)
      c.res = refused === null ? labelled(c.res, requestId, principal) : refused.fetchResponse()
      return undefined
    } catch (error) {
      const refused = guard.refusalOf(error, requestId)
      if (refused === null) throw error
      return refused.fetchResponse()
    }
  }
