import { isTenantAccess } from '#shared/http/endpoint.ts'
import { type Middleware, matched } from '#shared/http/request.ts'
import { requireTenant } from '#shared/session/check-session.ts'

/** Requires a selected tenant, and a role there that holds the permission of the route. */
export const tenantScope = (): Middleware => ({
  before: ({ context }) => {
    const { access } = matched(context.request).endpoint
    if (isTenantAccess(access)) requireTenant(context.request.principal, access.permission)
  },
})
