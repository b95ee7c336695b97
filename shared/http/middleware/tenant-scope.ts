import { isTenantAccess } from '#shared/http/endpoint.ts'
import { forbidden, Problem } from '#shared/problem.ts'
import { type Middleware, matched } from '#shared/http/request.ts'
import { holds } from '#shared/role/permissions.ts'

/** Requires a selected tenant, and a role there that holds the permission of the route. */
export const tenantScope = (): Middleware => ({
  before: ({ context }) => {
    const { principal } = context.request
    const { access } = matched(context.request).endpoint
    if (!isTenantAccess(access)) return
    if (principal === null || principal.tenant === null) throw new Problem('tenant-not-selected')
    if (access.permission !== null && !holds(principal.permissions, access.permission))
      throw forbidden('the role does not hold the permission')
  },
})
